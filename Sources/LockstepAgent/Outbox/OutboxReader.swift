import LockstepSQLite

/// A query of an outbox file that may be in use. Both versions of the schema have the same tables or views to read.
struct OutboxReader {
    private let path: String
    let query: SQLiteStatement

    /// - Parameter parameters: the values of the parameters of the query.
    /// - Throws: ``OutboxError``.
    init(path: String, sql: String, parameters: [String] = []) throws(OutboxError) {
        self.path = path
        do {
            let database = try SQLiteDatabase(path: path, mode: .readOnly)
            guard try OutboxSchema.isOutbox(database) else { throw NotAnOutboxError() }
            query = try database.prepare(sql)
            for (index, value) in parameters.enumerated() { try query.bind(value, at: index + 1) }
        } catch {
            throw OutboxError(path: path, error)
        }
    }

    /// Advances to the next row.
    /// - Returns: whether there is a row.
    /// - Throws: ``OutboxError``, for example for a damaged page.
    func step() throws(OutboxError) -> Bool {
        do { return try query.step() } catch { throw OutboxError(path: path, error) }
    }
}
