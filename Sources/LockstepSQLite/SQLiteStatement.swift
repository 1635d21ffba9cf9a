import CSQLite

/// A prepared statement. As in SQLite, parameters are numbered from 1 and columns from 0.
///
/// ```swift
/// let insert = try database.prepare("INSERT INTO note VALUES (?, ?)", persistent: true)
/// try insert.bind(42, at: 1)
/// try insert.bind("text", at: 2)
/// try insert.run()
/// ```
public final class SQLiteStatement {
    /// The SQL of the statement.
    public let sql: String
    /// A strong reference that keeps the connection open.
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

    /// Advances to the next row.
    /// - Returns: whether there is a row. After the last row, the statement is reset and can run again.
    /// - Throws: ``SQLiteError``. The statement is then reset.
    public func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            let error = SQLiteError(database.connection, code: code, sql: sql)
            // Without a reset the statement would keep its locks.
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs the statement to its end, ignoring rows, and resets it. Bound values are kept.
    public func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Resets the statement, so that values can be bound and it can run again. Bound values are kept.
    public func reset() {
        sqlite3_reset(handle)
    }

    /// - Throws: the last error of the connection, unless `code` is `SQLITE_OK`.
    func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(database.connection, code: code, sql: sql) }
    }
}
