public import LockstepSQLite

/// The newest batch of an agent's outbox at some time. While the agent runs, it always has newer batches that are not
/// acknowledged yet.
public struct DeliveryMark {
    private let path: String
    private let newest: Int64

    /// Marks the newest batch.
    /// - Throws: ``SQLiteError`` if the outbox cannot be read now.
    public init(outbox path: String) throws(SQLiteError) {
        self.path = path
        newest = try Self.number("SELECT ifnull(max(id), 0) FROM batches", path)
    }

    /// Whether every batch up to the mark is acknowledged. False if the outbox cannot be read now.
    public var isReached: Bool {
        let left = try? Self.number("SELECT EXISTS (SELECT 1 FROM batches WHERE id <= \(newest))", path)
        return left == 0
    }

    private static func number(_ sql: String, _ path: String) throws(SQLiteError) -> Int64 {
        let query = try SQLiteDatabase(path: path, mode: .readOnly, busyTimeout: 100).prepare(sql)
        return try query.step() ? query.int64(at: 0) : 0
    }
}
