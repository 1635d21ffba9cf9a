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
    /// Creates the error of a store from an exception of its server.
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
                    + "configuration (\(exception.text))")
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
