import LockstepModel
import LockstepSQLite

/// Reads aggregates (means and sums) over time spans.
///
/// It runs one query per span instead of `GROUP BY t / span`. SQLite does not know that this expression increases with
/// `t`, so it would sort all samples before returning the first row.
final class AverageCursor: QueryCursor {
    /// The statements for one source of rows: the table of merged rows, or the view that also shows the logs.
    private struct Source {
        /// Finds the first sample at or after ``position``.
        let first: SQLiteStatement
        /// Computes the aggregates of one span.
        let average: SQLiteStatement

        init(_ table: String, _ values: [String], in database: SQLiteDatabase) throws(SQLiteError) {
            let source = "FROM \(table) WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
            first = try database.prepare("SELECT t \(source) ORDER BY t LIMIT 1")
            average = try database.prepare("SELECT \((values + ["count(*)"]).joined(separator: ", ")) \(source)")
        }

        func start(device: Int64) throws(SQLiteError) {
            try first.bind(device, at: 1)
            try average.bind(device, at: 1)
        }

        func reset() {
            first.reset()
            average.reset()
        }
    }

    private let merged: Source
    private let all: Source
    private let log: LogReader?
    private let columns: [SensorStream.Column]
    private let times: Range<Int64>
    /// The length of a span, in µs.
    private let span: Int64
    /// The start of the next search for a sample, in µs since 1970.
    private var position: Int64
    /// The time of the first row of the current device in the logs. Until then, the table of merged rows is enough.
    private var logStart = Int64.max

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, span: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: stream.table, in: database)
        guard !present.isEmpty else { return nil }
        let values = stream.columns.compactMap { column in
            column.aggregateSQL.map { present.contains(column.name) ? $0 : "NULL" }
        }
        merged = try Source(stream.mergedTable, values, in: database)
        all = try Source(stream.table, values, in: database)
        log = try LogReader(stream, in: database)
        columns = stream.aggregateColumns
        self.times = times
        self.span = span
        position = times.lowerBound
    }

    func start(device: Int64) throws(SQLiteError) {
        position = times.lowerBound
        reset()
        try merged.start(device: device)
        try all.start(device: device)
        logStart = try log?.firstTime(of: device, times) ?? .max
    }

    func reset() {
        merged.reset()
        all.reset()
    }

    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        // Rows that are merged during the query are in the view as well, so a span may be read from either.
        var first = try firstTime(in: merged, before: logStart)
        if first == nil { first = try firstTime(in: all, before: .max) }
        guard let found = first else { return nil }
        let start = spanStart(found)
        let end = min(start + span, times.upperBound)
        let average = (end <= logStart ? merged : all).average
        try average.bind(found, at: 2)
        try average.bind(end, at: 3)
        guard try average.step() else { return nil }
        let values = columns.indices.map { columns[$0].kind.read(average, at: $0) }
        average.reset()
        position = start + span
        return (Timestamp(microseconds: start), values)
    }

    /// Returns the time of the first sample at or after ``position`` and before `end`, or nil if there is none.
    private func firstTime(in source: Source, before end: Int64) throws(SQLiteError) -> Int64? {
        guard position < end else { return nil }
        try source.first.bind(position, at: 2)
        try source.first.bind(min(end, times.upperBound), at: 3)
        defer { source.first.reset() }
        return try source.first.step() ? source.first.int64(at: 0) : nil
    }

    /// Returns the start of the span that contains `time`: the greatest multiple of `span` that is at most `time`.
    private func spanStart(_ time: Int64) -> Int64 {
        let rest = time % span
        return time - (rest < 0 ? rest + span : rest)
    }
}

extension SensorStream.Column {
    /// The SQL expression of the column's aggregate, or nil if it has none.
    fileprivate var aggregateSQL: String? {
        switch aggregate {
        case .mean: "avg(\(name))"
        case .meanLongitude: Self.meanLongitudeSQL(name)
        case .sum: "sum(\(name))"
        case .none: nil
        }
    }

    /// Returns the SQL expression of the mean longitude. If the values lie on both sides of the 180th meridian, 360° is
    /// added to negative values before averaging.
    private static func meanLongitudeSQL(_ name: String) -> String {
        let shifted = "avg(CASE WHEN \(name) < 0 THEN \(name) + 360 ELSE \(name) END)"
        return """
            CASE WHEN max(\(name)) - min(\(name)) <= 180 THEN avg(\(name))
            WHEN \(shifted) > 180 THEN \(shifted) - 360 ELSE \(shifted) END
            """
    }
}
