extension SQLiteDatabase {
    /// When a transaction takes its locks.
    public enum TransactionKind: String, Sendable {
        /// Takes the write lock at once, so that nothing inside can fail on another writer.
        case immediate = "IMMEDIATE"
        /// Takes what each statement needs: for several reads of one state of the database.
        case deferred = "DEFERRED"
    }

    /// Runs `body` within a transaction: commits what it did, or nothing of it if it throws or the commit fails.
    ///
    /// Transactions don't nest.
    /// - Throws: what `body` throws, or ``SQLiteError``.
    public func transaction<Result>(
        _ kind: TransactionKind = .immediate, _ body: () throws -> Result
    ) throws -> Result {
        try execute("BEGIN \(kind.rawValue)")
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // Where the disk was full SQLite may have rolled back itself. If this fails too, closing rolls back.
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }
}
