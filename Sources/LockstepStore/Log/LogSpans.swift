import LockstepSQLite

/// The table of a log's spans: the times of the samples in each sixteen turns. A query of a short range of times reads
/// only the turns of matching spans.
///
/// A span is open while turns are added to it: it is stored with an unlimited range, and with the actual range when the
/// next one begins. So a commit rarely changes this table.
struct LogSpans {
    /// The number of turns in a span.
    static let turns: Int64 = 16

    private struct Span {
        let number: Int64
        /// The times of all its samples, or nil if it has none.
        var times: ClosedRange<Int64>?
        /// Whether `times` contains the samples before the store was opened.
        let isComplete: Bool
    }

    /// The span of the current turn.
    private var open: Span?
    private var committed: Span?
    private let insert: SQLiteStatement
    private let update: SQLiteStatement
    private let database: SQLiteDatabase

    init(of log: LogNumber, in database: SQLiteDatabase) throws(SQLiteError) {
        insert = try database.prepare(
            "INSERT OR IGNORE INTO \(log.spansTable) (span, first, last) VALUES (?, \(Int64.min), \(Int64.max))",
            persistent: true)
        update = try database.prepare(
            "UPDATE \(log.spansTable) SET first = ?2, last = ?3 WHERE span = ?1", persistent: true)
        self.database = database
    }

    /// The statement that creates the table.
    static func create(_ log: LogNumber) -> String {
        """
        CREATE TABLE \(log.spansTable) (
            -- The times of the samples in the turns span * \(turns) to span * \(turns) + \(turns - 1).
            span INTEGER PRIMARY KEY,
            first INTEGER NOT NULL, -- no sample is earlier
            last INTEGER NOT NULL -- no sample is later
        )
        """
    }

    /// Returns a FROM clause with the turns of a log that may contain times from `?2` up to `?3`, as `log_turns.turn`.
    static func fromSQL(_ log: LogNumber) -> String {
        """
        \(log.spansTable) AS span CROSS JOIN log_turns
            ON span.first < ?3 AND span.last >= ?2
            AND log_turns.turn BETWEEN span.span * \(turns) AND span.span * \(turns) + \(turns - 1)
        """
    }

    /// Begins a turn. Turns increase.
    mutating func begin(_ turn: Int64) throws(SQLiteError) {
        let number = turn / Self.turns
        guard open?.number != number else { return }
        if let open, open.isComplete, let times = open.times {
            try update.bind(open.number, at: 1)
            try update.bind(times.lowerBound, at: 2)
            try update.bind(times.upperBound, at: 3)
            try update.run()
        }
        try insert.bind(number, at: 1)
        try insert.run()
        open = Span(number: number, times: nil, isComplete: database.changes > 0)
    }

    /// Adds the times of samples in the current turn.
    mutating func add(_ times: ClosedRange<Int64>) {
        let known = open?.times ?? times
        open?.times = min(known.lowerBound, times.lowerBound)...max(known.upperBound, times.upperBound)
    }

    mutating func commit() { committed = open }

    mutating func rollBack() { open = committed }

    /// Forgets everything, after the table was cleared.
    mutating func clear() {
        open = nil
        committed = nil
    }
}
