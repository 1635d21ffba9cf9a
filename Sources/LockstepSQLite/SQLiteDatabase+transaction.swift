extension SQLiteDatabase {
    /// The time at which a transaction acquires its locks.
    public enum TransactionKind: String, Sendable {
        /// Acquires the write lock at the start. Later statements of the transaction then cannot fail because of
        /// another writer.
        case immediate = "IMMEDIATE"
        /// Acquires locks when statements need them. Suitable for several reads of one consistent snapshot.
        case deferred = "DEFERRED"
    }

    /// Runs `body` in a transaction. If `body` throws or the commit fails, all changes are rolled back.
    ///
    /// Transactions cannot be nested.
    /// - Throws: the error of `body`, or ``SQLiteError``.
    public func transaction<Result>(
        _ kind: TransactionKind = .immediate, _ body: () throws -> Result
    ) throws -> Result {
        try execute("BEGIN \(kind.rawValue)")
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // SQLite may already have rolled back, for example on a full disk. If this rollback fails, closing the
            // connection rolls back.
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }
}
