import LockstepModel
import LockstepSQLite

/// The table `rejected`: the newest rejected messages, for troubleshooting.
struct RejectedTable {
    private let limit: Int
    private let insert: SQLiteStatement
    private let delete: SQLiteStatement

    init(limit: Int, in database: SQLiteDatabase) throws(SQLiteError) {
        self.limit = limit
        insert = try database.prepare(
            "INSERT INTO rejected (at, topic, reason, size, head) VALUES (?, ?, ?, ?, ?)", persistent: true)
        // Count rows by their ids, which have no gaps: only the oldest rows are deleted.
        delete = try database.prepare(
            "DELETE FROM rejected WHERE id <= (SELECT max(id) FROM rejected) - ?", persistent: true)
    }

    /// Inserts messages and deletes the oldest rows beyond the limit.
    func write(_ messages: [RejectedMessage]) throws(SQLiteError) {
        guard !messages.isEmpty else { return }
        for message in messages.suffix(limit) {
            try insert.bind(message.at.microseconds, at: 1)
            // Truncate the topic, which can be up to 64 KiB long.
            try insert.bind(String(decoding: message.topic.utf8.prefix(256), as: UTF8.self), at: 2)
            try insert.bind(message.reason, at: 3)
            try insert.bind(Int64(message.size), at: 4)
            try insert.bind(Array(message.head.prefix(256)), at: 5)
            try insert.run()
        }
        try delete.bind(Int64(limit), at: 1)
        try delete.run()
    }
}
