package import LockstepSQLite

/// The SQL statements of an outbox. Each is prepared once.
public final class OutboxSQL {
    /// A parameter of a statement; nil is NULL.
    public enum Value {
        case integer(Int64?)
        case text(String?)
        case blob([UInt8])
    }

    let database: SQLiteDatabase
    private var prepared: [String: SQLiteStatement] = [:]

    init(_ database: SQLiteDatabase) { self.database = database }

    /// Runs a statement without rows.
    /// - Returns: the number of rows that it has changed.
    @discardableResult
    public func run(_ sql: String, _ values: Value...) throws -> Int {
        try statement(sql, values).run()
        return database.changes
    }

    /// Passes each row to `body`.
    package func each(_ sql: String, _ values: Value..., body: (SQLiteStatement) throws -> Void) throws {
        let statement = try statement(sql, values)
        defer { statement.reset() }
        while try statement.step() { try body(statement) }
    }

    /// Returns what `body` reads from the first row, or nil if there is none.
    package func first<Result>(
        _ sql: String, _ values: Value..., body: (SQLiteStatement) throws -> Result
    ) throws -> Result? {
        let statement = try statement(sql, values)
        defer { statement.reset() }
        return try statement.step() ? body(statement) : nil
    }

    private func statement(_ sql: String, _ values: [Value]) throws -> SQLiteStatement {
        let statement = try prepared[sql] ?? database.prepare(sql, persistent: true)
        prepared[sql] = statement
        for (index, value) in values.enumerated() {
            switch value {
            case .integer(let value): try statement.bind(value, at: index + 1)
            case .text(let value): try statement.bind(value, at: index + 1)
            case .blob(let value): try statement.bind(value, at: index + 1)
            }
        }
        return statement
    }

    // MARK: - Table meta

    /// Returns a number, or 0 if it is missing.
    func number(_ key: String) throws -> Int64 {
        try first("SELECT value FROM meta WHERE key = ?", .text(key)) { $0.int64(at: 0) } ?? 0
    }

    /// Returns a text, or nil if it is missing.
    func text(_ key: String) throws -> String? {
        try first("SELECT value FROM meta WHERE key = ?", .text(key)) { $0.text(at: 0) } ?? nil
    }

    func set(_ key: String, _ value: Value) throws {
        try run(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            .text(key), value)
    }
}
