import LockstepModel
import LockstepSQLite

/// A row of an answer. Columns are numbered from 0.
package protocol StoreRow {
    /// Returns an integer, or 0 for NULL.
    func int64(at column: Int) -> Int64
    /// Returns an integer, or nil for NULL.
    func optionalInt64(at column: Int) -> Int64?
    /// Returns a number, or NaN for NULL.
    func double(at column: Int) -> Double
    /// Returns a text, or nil for NULL.
    func text(at column: Int) -> String?
}

extension SQLiteStatement: StoreRow {}

/// A store that answers SELECT statements. A query is written once for all kinds of stores: their tables and views have the
/// same columns, and the dialect has what differs.
package protocol StoreSource {
    /// The path or the address, for texts of errors.
    var name: String { get }

    /// What differs in SQL.
    var dialect: StoreDialect { get }

    /// Passes the rows of an answer to `each`, which returns false to end the query.
    func select(
        _ statement: String, _ each: (any StoreRow) throws(StoreError) -> Bool
    ) throws(StoreError)
}

extension StoreSource {
    /// Returns what `read` makes of the rows of an answer, without nil.
    package func rows<Row>(
        _ statement: String, _ read: (any StoreRow) throws(StoreError) -> Row?
    ) throws(StoreError) -> [Row] {
        var rows: [Row] = []
        try select(statement) { row throws(StoreError) in
            if let row = try read(row) { rows.append(row) }
            return true
        }
        return rows
    }

    /// Returns the number of an answer with one column.
    func integer(_ statement: String) throws(StoreError) -> Int64 {
        try rows(statement) { $0.int64(at: 0) }.first ?? 0
    }

    /// Returns a text as a literal.
    func literal(_ text: String) -> String { dialect.literal(text) }
}

/// How the SQL of a kind of store differs.
package struct StoreDialect: Sendable {
    /// The query of the names and the definitions of declared streams.
    package var definitions: String
    /// The table with the addresses of devices: the view `devices` takes longer.
    package var devices: String
    /// The ranges of received batches, and of dropped ones. They may overlap.
    package var batches: String
    package var dropped: String
    /// What devices report about their batches.
    package var reports: String
    /// The deliveries of events, with the device of the event.
    package var deliveries: String
    /// The order in which rejected messages were received.
    package var orderOfRejected: String
    /// The query of the number of tables of sessions, which exist from the first session on.
    package var sessionTables: String
    /// The function that finds a text in another.
    package var position: String
    /// The maximum number of rows of an answer that may be long, or nil if it is not kept in memory.
    package var maxRows: Int?
    /// Returns the source of events with some numbers, and perhaps of others.
    package var events: @Sendable (_ numbers: [Int64]) -> String
    /// Returns the source of the estimates of a device's clock that do not wait, each once.
    package var clocks: @Sendable (_ device: Int64) -> String
    /// Returns the query of the newest estimate of each device by the collector's clock, because the device's clock may have
    /// been set back. The device comes before ``/LockstepModel/ClockPoint``.
    package var newestClocks: @Sendable (_ condition: String) -> String
    /// Returns a text as a literal.
    package var literal: @Sendable (_ text: String) -> String

    package init(
        definitions: String, devices: String, batches: String, dropped: String, reports: String, deliveries: String,
        orderOfRejected: String, sessionTables: String, position: String, maxRows: Int?,
        events: @escaping @Sendable ([Int64]) -> String,
        clocks: @escaping @Sendable (Int64) -> String, newestClocks: @escaping @Sendable (String) -> String,
        literal: @escaping @Sendable (String) -> String
    ) {
        self.definitions = definitions
        self.devices = devices
        self.batches = batches
        self.dropped = dropped
        self.reports = reports
        self.deliveries = deliveries
        self.orderOfRejected = orderOfRejected
        self.sessionTables = sessionTables
        self.position = position
        self.maxRows = maxRows
        self.events = events
        self.clocks = clocks
        self.newestClocks = newestClocks
        self.literal = literal
    }

    /// The columns of ``/LockstepModel/ClockPoint``.
    package static let clockColumns = "collector, t, segment, offset, skew, bound, skew_bound"

    static let sqlite = StoreDialect(
        definitions: "SELECT name, definition FROM streams WHERE definition IS NOT NULL ORDER BY name",
        devices: "_devices", batches: "batches", dropped: "dropped", reports: "_reports",
        deliveries: "deliveries JOIN events USING (event_id)", orderOfRejected: "id",
        sessionTables: "SELECT count(*) FROM sqlite_schema WHERE name = 'sessions'", position: "instr", maxRows: nil,
        events: { _ in "events" }, clocks: { "(SELECT * FROM _clocks WHERE device_id = \($0))" },
        // SQLite takes the other columns from the row with the maximum.
        newestClocks: { condition in
            """
            SELECT device_id, \(clockColumns), max(t - offset) FROM _clocks WHERE \(condition) GROUP BY device_id
            """
        },
        // A NUL would end the statement.
        literal: literalOfSQLite)
}

/// Returns a text as a literal in the SQL of SQLite.
func literalOfSQLite(_ text: String) -> String {
    "'" + text.escaping(["'": "''", "\0": "' || char(0) || '"]) + "'"
}

/// An SQLite store that answers SELECT statements.
struct SQLiteSource: StoreSource {
    let database: SQLiteDatabase
    var name: String { database.path }
    var dialect: StoreDialect { .sqlite }

    init(_ database: SQLiteDatabase) { self.database = database }

    func select(
        _ statement: String, _ each: (any StoreRow) throws(StoreError) -> Bool
    ) throws(StoreError) {
        do {
            let select = try database.prepare(statement)
            defer { select.reset() }
            while try select.step() { guard try each(select) else { return } }
        } catch { throw StoreError(error, path: name) }
    }
}

extension RandomAccessCollection where Index == Int {
    /// Returns consecutive parts with at most `count` elements.
    package func chunks(of count: Int) -> [SubSequence] {
        stride(from: startIndex, to: endIndex, by: count).map { self[$0..<Swift.min($0 + count, endIndex)] }
    }
}
