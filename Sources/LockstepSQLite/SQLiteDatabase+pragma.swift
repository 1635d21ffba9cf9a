import CSQLite

extension SQLiteDatabase {
    /// The schema version in the header of the file, which is 0 in a new file.
    public var userVersion: Int {
        get throws(SQLiteError) { Int(try integer("PRAGMA user_version")) }
    }

    /// Sets ``userVersion`` as part of the current transaction.
    public func setUserVersion(_ version: Int) throws(SQLiteError) {
        try execute("PRAGMA user_version = \(version)")
    }

    /// The id of the application that owns the file, in the header of the file, or 0 if it is not set.
    public var applicationID: Int32 {
        get throws(SQLiteError) { Int32(truncatingIfNeeded: try integer("PRAGMA application_id")) }
    }

    /// Sets ``applicationID`` as part of the current transaction.
    public func setApplicationID(_ id: Int32) throws(SQLiteError) {
        try execute("PRAGMA application_id = \(id)")
    }

    /// Runs a statement without parameters and returns its first value as an integer, or 0 if it has no rows.
    public func integer(_ sql: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.int64(at: 0) : 0
    }

    /// Runs a statement without parameters and returns its first value as text, or nil if it has no rows.
    public func text(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(at: 0) : nil
    }

    /// Switches to a write-ahead log (WAL), so that readers and the writer do not block each other.
    /// - Throws: ``SQLiteError``, for example if the file system does not support a write-ahead log.
    public func useWriteAheadLog() throws(SQLiteError) {
        let sql = "PRAGMA journal_mode = WAL"
        let mode = try text(sql)
        guard mode == "wal" else {
            throw SQLiteError(
                code: SQLITE_CANTOPEN,
                message: "the file system does not support a write-ahead log (journal mode \(mode ?? "none"))",
                sql: sql)
        }
    }

    /// Keeps the files of the write-ahead log, which SQLite otherwise deletes when the last connection closes.
    ///
    /// They let users read the database who may not write to its folder. Otherwise such a user could not open it while no
    /// other program has, and a user who may write to the folder would create files that the owner cannot write.
    public func keepLogFiles() throws(SQLiteError) {
        var isKept: Int32 = 1
        let code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
        guard code == SQLITE_OK else { throw SQLiteError(connection, code: code, sql: "persistent log") }
    }

    /// Disables automatic checkpoints and enables ``logPages``. The caller runs ``checkpoint(truncate:)`` instead.
    ///
    /// By default, a commit that makes the log longer than 1,000 pages also runs a checkpoint, and waits for the disk.
    public func disableAutomaticCheckpoint() {
        sqlite3_wal_hook(
            connection,
            { counter, _, _, pages in
                counter?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, logCounter)
    }

    /// The length of the write-ahead log in pages, as of the last commit of this connection. It is 0 before the first
    /// commit, and always if ``disableAutomaticCheckpoint()`` was not called.
    public var logPages: Int { Int(logCounter.pointee) }

    /// Copies the write-ahead log into the database as far as active readers allow (checkpoint).
    /// - Parameter truncate: whether to wait for readers, up to the busy timeout, and then truncate the log file.
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
