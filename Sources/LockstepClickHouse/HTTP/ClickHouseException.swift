import LockstepStore

/// An error that a ClickHouse server reports: `Code: 60, e.displayText() = DB::Exception: Table … doesn't exist.`
struct ClickHouseException: Equatable {
    /// The number of the error, or nil if the text has none.
    let code: Int?
    /// The description, shortened to 500 characters.
    let text: String

    /// Parses the body of an answer.
    init(_ body: String) {
        let line = body.split(whereSeparator: \.isNewline).joined(separator: " ")
        if let match = line.prefixMatch(of: /Code: (\d+)[.,]\s*/) {
            code = Int(match.1)
            let rest = line[match.range.upperBound...]
            text = String(rest.trimmingPrefix("e.displayText() = ").trimmingPrefix("DB::Exception: ").prefix(500))
        } else {
            code = nil
            text = String(line.prefix(500))
        }
    }
}

extension StoreError {
    init(_ exception: ClickHouseException, at address: ClickHouseAddress) {
        switch exception.code {
        case 243: self.init(.full, "no space is left on the disk of the ClickHouse server \(address)")
        case 192, 193, 194, 516:
            self.init(
                .notAllowed,
                "the ClickHouse server \(address) refuses the user: check the user name and --store-password-file")
        case 497, 164:
            self.init(.notAllowed, "the ClickHouse server \(address) refuses the statement: \(exception.text)")
        case 285, 286, 319:
            self.init(
                .unreachable,
                "too few replicas of \(address) hold the rows, so nothing is acknowledged: check that the other replicas "
                    + "run and can reach each other and the keeper (\(exception.text))")
        case 225, 242, 999:
            self.init(
                .unreachable,
                "the ClickHouse server \(address) has no connection to its keeper: check the keeper, and the element "
                    + "<zookeeper> of the server's configuration (\(exception.text))")
        case 253:
            self.init(
                .other,
                "two ClickHouse servers of \(address) have the same name: give each another macro 'replica' in its "
                    + "configuration. If one was killed while it created the table, its name remained in the keeper: remove it "
                    + "on another server with SYSTEM DROP REPLICA, or before version 20.5 in the keeper itself "
                    + "(\(exception.text))")
        case 252:
            self.init(.busy, "the ClickHouse server \(address) cannot keep up with merging: \(exception.text)")
        case 159, 160, 241:
            self.init(
                .server,
                "the query exceeds a limit of the ClickHouse server \(address): shorten the time range, or raise the limit "
                    + "in the profile of the user (\(exception.text))")
        default: self.init(.server, "the ClickHouse server \(address) reports an error: \(exception.text)")
        }
    }
}

/// The version of a ClickHouse server, and what follows from it.
struct ServerVersion: CustomStringConvertible, Equatable {
    /// The year and the release in that year: 18 and 16 for `18.16.1`.
    let year: Int
    let release: Int
    let description: String

    init(_ client: ClickHouseClient) throws(StoreError) {
        let text = try client.rows("SELECT version()", inDatabase: false).first?.first.flatMap { $0 } ?? ""
        guard let version = ServerVersion(text) else {
            throw StoreError(.other, "the server is not a ClickHouse server: its version is '\(text)'")
        }
        self = version
    }

    /// Parses a version such as `18.16.1`.
    init?(_ text: String) {
        let parts = text.split(separator: ".")
        guard parts.count >= 2, let year = Int(parts[0]), let release = Int(parts[1]) else { return nil }
        self.year = year
        self.release = release
        description = text
    }

    /// Whether an insert can wait until its files are on the disk.
    var syncsInserts: Bool { isAtLeast(20, 10) }

    /// Settings of every request, as parameters of an address.
    var settings: String {
        // Samples of a device whose clock was wrong may be in many partitions.
        let partitions = isAtLeast(19, 4) ? "&max_partitions_per_insert_block=0" : ""
        // Without `wait_for_async_insert`, an asynchronous insert is answered before its rows are stored. With it, it only waits
        // for inserts of others, though a commit already has the rows of all devices.
        return partitions + (isAtLeast(21, 12) ? "&async_insert=0" : "")
    }

    /// Returns whether this is the release, or a later one.
    func isAtLeast(_ year: Int, _ release: Int) -> Bool { (self.year, self.release) >= (year, release) }
}

/// The format TabSeparated of ClickHouse: one row a line; tab, newline and backslash are escaped, and `\N` is NULL.
enum TabSeparated {
    /// Returns the rows of `body`.
    static func rows(_ body: [UInt8]) -> [[String?]] {
        body.split(separator: UInt8(ascii: "\n")).map { line in
            line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map(value)
        }
    }

    private static func value(_ field: ArraySlice<UInt8>) -> String? {
        guard field.contains(UInt8(ascii: "\\")) else { return String(decoding: field, as: UTF8.self) }
        if field.elementsEqual("\\N".utf8) { return nil }
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch next {
            case UInt8(ascii: "b"): bytes.append(8)
            case UInt8(ascii: "f"): bytes.append(12)
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "0"): bytes.append(0)
            default: bytes.append(next)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
