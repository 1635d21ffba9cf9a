import CSQLite

/// One connection to an SQLite database. It closes when it and its statements are gone.
///
/// Use it and its statements from one thread at a time: SQLite's own mutexes are off.
public final class SQLiteDatabase {
    /// What a connection may do with the file.
    public enum Mode: Sendable {
        /// Reads and writes, and makes the file where there is none.
        case readWriteCreate
        /// Reads and writes a file that is there.
        case readWrite
        /// Only reads. A file in WAL mode still needs its `-shm` beside it, or a folder where it can be made.
        case readOnly
    }

    /// The path as it was given.
    public let path: String
    let connection: OpaquePointer
    /// Where SQLite tells how long its log is, for as long as the connection lives.
    let logCounter: UnsafeMutablePointer<Int32>

    /// Opens `path`. SQLite reads the file only on first use, so a file that is no database passes here.
    /// - Parameter busyTimeout: how long to wait for another connection's lock, in milliseconds.
    /// - Throws: ``SQLiteError``: the file or its folder is missing or forbidden.
    public init(path: String, mode: Mode = .readWriteCreate, busyTimeout: Int32 = 5000) throws(SQLiteError) {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, mode.flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let opened else {
            let error = SQLiteError(opened, code: code, sql: nil)
            sqlite3_close_v2(opened)
            throw error
        }
        self.path = path
        connection = opened
        logCounter = .allocate(capacity: 1)
        logCounter.initialize(to: 0)
        sqlite3_busy_timeout(opened, busyTimeout)
    }

    deinit {
        // The second form waits for statements that are still to be finalized.
        sqlite3_close_v2(connection)
        logCounter.deallocate()
    }

    /// Runs one or more statements that take no values and give no rows worth reading.
    public func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(connection, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(connection, code: code, sql: sql) }
    }

    /// Compiles one statement.
    /// - Parameter persistent: whether it will be kept and used many times.
    /// - Throws: ``SQLiteError``: bad SQL, a missing table; also a file that is no database, met here first.
    public func prepare(_ sql: String, persistent: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(connection, sql, -1, flags, &statement, nil)
        guard code == SQLITE_OK else { throw SQLiteError(connection, code: code, sql: sql) }
        guard let statement else { throw SQLiteError(code: SQLITE_MISUSE, message: "empty statement", sql: sql) }
        return SQLiteStatement(statement, of: self, sql: sql)
    }

    /// How many rows the last INSERT, UPDATE or DELETE touched.
    public var changes: Int { Int(sqlite3_changes64(connection)) }

    /// The rowid of the last row inserted into a rowid table.
    public var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(connection) }

    /// Whether the file can only be read, though perhaps more was asked for.
    public var isReadOnly: Bool { sqlite3_db_readonly(connection, "main") == 1 }

    /// Whether a transaction is open.
    public var isInTransaction: Bool { sqlite3_get_autocommit(connection) == 0 }
}

extension SQLiteDatabase.Mode {
    fileprivate var flags: Int32 {
        switch self {
        case .readWriteCreate: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readWrite: SQLITE_OPEN_READWRITE
        case .readOnly: SQLITE_OPEN_READONLY
        }
    }
}
