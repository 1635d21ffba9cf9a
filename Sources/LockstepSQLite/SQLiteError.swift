import CSQLite
import Glibc

/// What SQLite refused to do, and why.
public struct SQLiteError: Error, Hashable, Sendable {
    /// SQLite's extended result code.
    public let code: Int32
    /// SQLite's own words.
    public let message: String
    /// The statement that failed, never with its arguments.
    public let sql: String?
    /// The `errno` behind an input or output error, 0 where there is none.
    public let systemError: Int32

    public init(code: Int32, message: String, sql: String? = nil, systemError: Int32 = 0) {
        self.code = code
        self.message = message
        self.sql = sql
        self.systemError = systemError
    }

    /// The result code without its extension: `SQLITE_BUSY` for `SQLITE_BUSY_SNAPSHOT`.
    public var primaryCode: Int32 { code & 0xff }

    /// Whether the disk (or the quota, or `max_page_count`) is full: free space and write again.
    public var isFull: Bool {
        primaryCode == SQLITE_FULL || systemError == ENOSPC || systemError == EDQUOT
    }

    /// Whether another connection held a lock for longer than the busy timeout.
    public var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }

    /// Whether the file, its folder or its file system doesn't allow what was asked.
    public var isReadOnlyOrCannotOpen: Bool {
        [SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH].contains(primaryCode)
    }

    /// Whether the file is damaged, or is no SQLite database at all.
    public var isCorrupt: Bool { primaryCode == SQLITE_CORRUPT || isNotADatabase }

    /// Whether the file is something else than an SQLite database.
    public var isNotADatabase: Bool { primaryCode == SQLITE_NOTADB }

    /// Whether a constraint of the schema forbids the row.
    public var isConstraint: Bool { primaryCode == SQLITE_CONSTRAINT }
}

extension SQLiteError: CustomStringConvertible {
    /// One sentence: `disk I/O error (SQLite code 778, No space left on device) in: INSERT …`.
    public var description: String {
        var text = "\(message) (SQLite code \(code)"
        if systemError != 0 { text += ", " + systemErrorText(systemError) }
        text += ")"
        if let sql {
            text += " in: " + String(sql.split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(200))
        }
        return text
    }
}

extension SQLiteError {
    /// The error that `connection` has just reported with `code`.
    init(_ connection: OpaquePointer?, code: Int32, sql: String?) {
        let primaryCode = code & 0xff
        let reached = primaryCode == SQLITE_IOERR || primaryCode == SQLITE_CANTOPEN
        self.init(
            // A failed open may leave no connection to ask.
            code: code,
            message: connection.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code)),
            sql: sql,
            // The connection remembers the last errno: it belongs to this error only if this is an I/O error.
            systemError: reached ? connection.map { sqlite3_system_errno($0) } ?? 0 : 0)
    }
}

/// What the system says of an `errno`: `No space left on device`.
func systemErrorText(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
