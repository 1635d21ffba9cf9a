import CSQLite

extension SQLiteDatabase {
    /// Copies the database into a new file with SQLite's backup API, as of the start of the copy. Other connections may write
    /// meanwhile.
    /// - Parameters:
    ///   - target: an empty database.
    ///   - pages: the number of pages of a step.
    ///   - body: called after each step with the numbers of copied and of all pages. It may throw to end the copy.
    /// - Throws: ``SQLiteError``, or the error of `body`.
    public func copy(to target: SQLiteDatabase, pages: Int32 = 512, step body: (Int, Int) throws -> Void) throws {
        // In one transaction all steps see the same state. Otherwise each commit of another process would start the copy again.
        try transaction(.deferred) {
            _ = try integer("SELECT count(*) FROM sqlite_schema")
            guard let backup = sqlite3_backup_init(target.connection, "main", connection, "main") else {
                throw SQLiteError(target.connection, code: sqlite3_errcode(target.connection), sql: "backup")
            }
            var code = SQLITE_OK
            do {
                while code == SQLITE_OK || code & 0xff == SQLITE_BUSY {
                    code = sqlite3_backup_step(backup, pages)
                    let count = Int(sqlite3_backup_pagecount(backup))
                    try body(count - Int(sqlite3_backup_remaining(backup)), count)
                }
            } catch {
                sqlite3_backup_finish(backup)
                throw error
            }
            let finished = sqlite3_backup_finish(backup)
            guard code == SQLITE_DONE, finished == SQLITE_OK else {
                let failure = code == SQLITE_DONE ? finished : code
                // An error of the source is not kept by the target.
                let isOfTarget = sqlite3_errcode(target.connection) != SQLITE_OK
                throw SQLiteError(isOfTarget ? target.connection : connection, code: failure, sql: "backup")
            }
        }
    }
}
