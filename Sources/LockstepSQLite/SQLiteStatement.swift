import CSQLite

/// A compiled statement. Parameters count from 1 and columns from 0, as in SQLite.
///
/// ```swift
/// let insert = try database.prepare("INSERT INTO note VALUES (?, ?)", persistent: true)
/// try insert.bind(42, at: 1)
/// try insert.bind("text", at: 2)
/// try insert.run()
/// ```
public final class SQLiteStatement {
    /// The SQL as it was given.
    public let sql: String
    /// Keeps the connection open while the statement lives.
    private let database: SQLiteDatabase
    let handle: OpaquePointer

    init(_ handle: OpaquePointer, of database: SQLiteDatabase, sql: String) {
        self.handle = handle
        self.database = database
        self.sql = sql
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Goes to the next row.
    /// - Returns: false at the end; the statement is then reset and can run again.
    /// - Throws: ``SQLiteError``; the statement is then reset too.
    public func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            let error = SQLiteError(database.connection, code: code, sql: sql)
            // A statement left in the middle would keep its locks.
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs to the end, ignoring rows, and resets. What is bound stays bound.
    public func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Goes back before the first row, so that values can be bound. What is bound stays bound.
    public func reset() {
        sqlite3_reset(handle)
    }

    /// Makes every parameter NULL.
    public func clearBindings() {
        sqlite3_clear_bindings(handle)
    }

    func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(database.connection, code: code, sql: sql) }
    }
}
