import CSQLite

extension SQLiteDatabase {
    /// The schema's version, kept in the file's header; 0 in a new file.
    public var userVersion: Int {
        get throws(SQLiteError) { Int(try integer("PRAGMA user_version")) }
    }

    /// Sets ``userVersion``; part of the transaction around it.
    public func setUserVersion(_ version: Int) throws(SQLiteError) {
        try execute("PRAGMA user_version = \(version)")
    }

    /// Which program the file belongs to, kept in the file's header; 0 where none has said so.
    public var applicationID: Int32 {
        get throws(SQLiteError) { Int32(truncatingIfNeeded: try integer("PRAGMA application_id")) }
    }

    /// Sets ``applicationID``; part of the transaction around it.
    public func setApplicationID(_ id: Int32) throws(SQLiteError) {
        try execute("PRAGMA application_id = \(id)")
    }

    /// The first value that a statement without parameters gives, as a number; 0 where it gives none.
    public func integer(_ sql: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int64(at: 0) : 0
    }

    /// The first value that a statement without parameters gives, as text.
    public func text(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(at: 0) : nil
    }

    /// Switches to a write-ahead log: readers and the writer don't wait for each other.
    /// - Throws: ``SQLiteError``, also where the file system can't do it.
    public func useWriteAheadLog() throws(SQLiteError) {
        let sql = "PRAGMA journal_mode = WAL"
        let mode = try text(sql)
        guard mode == "wal" else {
            throw SQLiteError(
                code: SQLITE_CANTOPEN, message: "the file system allows no write-ahead log (mode \(mode ?? "none"))",
                sql: sql)
        }
    }

    /// Leaves it to ``checkpoint(truncate:)`` to copy the write-ahead log, and counts its pages: see ``logPages``. Without,
    /// SQLite copies it within the commit that makes it longer than 1,000 pages, and that commit waits for the disk.
    public func disableAutomaticCheckpoint() {
        sqlite3_wal_hook(
            connection,
            { counter, _, _, pages in
                counter?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, logCounter)
    }

    /// How many pages the write-ahead log had after the last commit of this connection; 0 before the first, and without
    /// ``disableAutomaticCheckpoint()``.
    public var logPages: Int { Int(logCounter.pointee) }

    /// Copies the write-ahead log into the database as far as readers allow.
    /// - Parameter truncate: waits for readers (busy timeout) and then cuts the log file to nothing.
    /// - Returns: whether the whole log was copied.
    @discardableResult
    public func checkpoint(truncate: Bool = false) throws(SQLiteError) -> Bool {
        let mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        var logFrames: Int32 = 0
        var copiedFrames: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(connection, nil, mode, &logFrames, &copiedFrames)
        if code & 0xff == SQLITE_BUSY { return false }
        guard code == SQLITE_OK else { throw SQLiteError(connection, code: code, sql: "checkpoint") }
        return logFrames == copiedFrames
    }
}
