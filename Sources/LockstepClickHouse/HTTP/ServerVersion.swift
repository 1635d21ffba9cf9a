import LockstepStore

/// The version of a ClickHouse server, and what follows from it.
struct ServerVersion: CustomStringConvertible, Equatable {
    /// The year and the release in that year: 18 and 16 for `18.16.1`.
    let year: Int
    let release: Int
    /// The version as the server reports it.
    let description: String

    /// Asks the server.
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
        // An asynchronous insert would be answered before its rows are stored.
        return partitions + (isAtLeast(21, 12) ? "&async_insert=0" : "")
    }

    /// Returns whether this is the release, or a later one.
    func isAtLeast(_ year: Int, _ release: Int) -> Bool { (self.year, self.release) >= (year, release) }
}
