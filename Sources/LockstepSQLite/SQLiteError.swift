import CSQLite
import Glibc

/// An error reported by SQLite.
public struct SQLiteError: Error, Hashable, Sendable {
    /// SQLite's extended result code.
    public let code: Int32
    /// SQLite's error message.
    public let message: String
    /// The SQL of the failed statement without the bound values, or nil if no statement failed.
    public let sql: String?
    /// The `errno` of an I/O error, or 0 if there is none.
    public let systemError: Int32

    /// Creates an error.
    public init(code: Int32, message: String, sql: String? = nil, systemError: Int32 = 0) {
        self.code = code
        self.message = message
        self.sql = sql
        self.systemError = systemError
    }

    /// The primary result code: `SQLITE_BUSY` for the extended code `SQLITE_BUSY_SNAPSHOT`.
    public var primaryCode: Int32 { code & 0xff }

    /// Whether the disk, the quota or `max_page_count` is exhausted.
    public var isFull: Bool {
        primaryCode == SQLITE_FULL || systemError == ENOSPC || systemError == EDQUOT
    }

    /// Whether another connection held a lock for longer than the busy timeout.
    public var isBusy: Bool { primaryCode == SQLITE_BUSY || primaryCode == SQLITE_LOCKED }

    /// Whether the file is read-only, or cannot be opened because it is missing or its permissions do not allow it.
    public var isReadOnlyOrCannotOpen: Bool {
        [SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH].contains(primaryCode)
    }

    /// Whether the system reported an error when a file was read or written. ``systemError`` has its `errno`.
    public var isInputOutputError: Bool { primaryCode == SQLITE_IOERR }

    /// Whether the file is damaged or not an SQLite database.
    public var isCorrupt: Bool { primaryCode == SQLITE_CORRUPT || isNotADatabase }

    /// Whether the file is not an SQLite database.
    public var isNotADatabase: Bool { primaryCode == SQLITE_NOTADB }

    /// Whether a statement is wrong, such as one with a table or a column that does not exist.
    public var isWrongStatement: Bool { primaryCode == SQLITE_ERROR }

    /// Whether a statement was ended by ``SQLiteDatabase/interruptible(by:_:)``.
    public var isInterrupted: Bool { primaryCode == SQLITE_INTERRUPT }
}

extension SQLiteError: CustomStringConvertible {
    /// The error as text: `disk I/O error (SQLite code 778, No space left on device) in: INSERT …`.
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
    /// Returns the error of the last system call for a file, with its `errno`.
    /// - Parameter action: what failed, such as `rename the outbox`.
    public static func lastSystemError(_ action: String) -> SQLiteError {
        SQLiteError(code: SQLITE_IOERR, message: "cannot \(action)", systemError: errno)
    }
}

extension SQLiteError {
    /// Creates the error that `connection` has just reported with `code`.
    init(_ connection: OpaquePointer?, code: Int32, sql: String?) {
        let primaryCode = code & 0xff
        let hasSystemError = primaryCode == SQLITE_IOERR || primaryCode == SQLITE_CANTOPEN
        self.init(
            // There may be no connection after a failed open.
            code: code,
            message: connection.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code)),
            sql: sql,
            // The connection keeps the last errno, which belongs to this error only if it is an I/O error.
            systemError: hasSystemError ? connection.map { sqlite3_system_errno($0) } ?? 0 : 0)
    }
}

/// Returns the system's description of an `errno`, such as `No space left on device`.
func systemErrorText(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
