import LockstepSQLite

/// The number of pages that one statement overwrites.
private let pagesPerStatement: Int64 = 128

// Overwriting what a secure deletion has left in the file.

extension SQLiteStore {
    /// Takes the free pages of the file, which may have content from before: what has waited is not overwritten when it is moved.
    /// - Returns: whether all are taken.
    func fillFreePages(until end: ContinuousClock.Instant) throws(SQLiteError) -> Bool {
        try database.execute("CREATE TABLE IF NOT EXISTS _zeros (zeros BLOB)")
        // The last row may need a page more than are free.
        while case let free = try database.integer("PRAGMA freelist_count"), free > 0 {
            if ContinuousClock.now >= end { return false }
            // The last four bytes of a page are the number of the next one.
            let size = min(free, pagesPerStatement) * (Int64(pageSize) - 4)
            try database.execute("INSERT INTO _zeros VALUES (zeroblob(\(size)))")
        }
        return true
    }

    /// Gives them back. The end of the last page of a row is not overwritten when the row is inserted, but when it is deleted.
    func deleteZeros(until end: ContinuousClock.Instant) throws(SQLiteError) -> Bool {
        while true {
            try database.execute("DELETE FROM _zeros WHERE rowid = (SELECT max(rowid) FROM _zeros)")
            guard database.changes > 0 else { break }
            if ContinuousClock.now >= end { return false }
        }
        try database.execute("DROP TABLE _zeros")
        return true
    }

    /// Empties the write-ahead log, unless a reader uses it.
    func truncateLog() throws(SQLiteError) {
        let timeout = try database.integer("PRAGMA busy_timeout")
        try database.execute("PRAGMA busy_timeout = 0")
        defer { try? database.execute("PRAGMA busy_timeout = \(timeout)") }
        try database.checkpoint(truncate: true)
    }
}
