import CSQLite

/// A connection to an SQLite database. It closes when it and all its statements are deallocated.
///
/// Use a connection and its statements from one thread at a time: SQLite's own mutexes are disabled.
public final class SQLiteDatabase {
    /// The access mode of a connection.
    public enum Mode: Sendable {
        /// Read and write. The file is created if it does not exist, with the permissions of ``NewFile``.
        case readWriteCreate
        /// Read and write an existing file.
        case readWrite
        /// Read only. A file in WAL mode also needs its `-shm` file, or a folder in which it can be created.
        case readOnly
    }

    /// The path passed to the initializer.
    public let path: String
    /// A lock on the file, which is released after the connection is closed, or nil.
    public var lock: DatabaseLock?
    let connection: OpaquePointer
    /// The length of the write-ahead log in pages. It has a stable address, because SQLite's WAL hook writes to it.
    let logCounter: UnsafeMutablePointer<Int32>

    /// Opens the file `path`, whatever its name is. SQLite reads the file on first use only, so opening a file that is not a database succeeds.
    /// - Parameter busyTimeout: the maximum time to wait for another connection's lock, in milliseconds.
    /// - Throws: ``SQLiteError`` if the file or its folder is missing or not accessible.
    public init(path: String, mode: Mode = .readWriteCreate, busyTimeout: Int32 = 5000) throws(SQLiteError) {
        if mode == .readWriteCreate { NewFile.create(path) }
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(
            Self.fileName(path), &opened, mode.flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
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

    /// Returns a name by which SQLite opens the file `path` and nothing else: it may take `file:name` for an address, which
    /// no lock is on, `:memory:` for a database without a file, and an empty name for a temporary one.
    public static func fileName(_ path: String) -> String {
        path.isEmpty || path.hasPrefix(":") || path.hasPrefix("file:") ? "./" + path : path
    }

    deinit {
        // Unlike `sqlite3_close`, this succeeds if statements are not finalized yet: SQLite closes after the last one.
        sqlite3_close_v2(connection)
        logCounter.deallocate()
    }

    /// Runs one or more statements without parameters and ignores their rows.
    public func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(connection, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(connection, code: code, sql: sql) }
    }

    /// Compiles one statement.
    /// - Parameter persistent: whether the statement will be reused many times.
    /// - Throws: ``SQLiteError`` if the SQL is invalid, a table is missing, or the file is not a database.
    public func prepare(_ sql: String, persistent: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        let code = sqlite3_prepare_v3(connection, sql, -1, flags, &statement, nil)
        guard code == SQLITE_OK else { throw SQLiteError(connection, code: code, sql: sql) }
        guard let statement else { throw SQLiteError(code: SQLITE_MISUSE, message: "empty statement", sql: sql) }
        return SQLiteStatement(statement, of: self, sql: sql)
    }

    /// The number of rows changed by the last completed INSERT, UPDATE or DELETE.
    public var changes: Int { Int(sqlite3_changes64(connection)) }

    /// The rowid of the last row that was inserted into a rowid table.
    public var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(connection) }

    /// Whether the database is read-only, even if it was opened for writing.
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
