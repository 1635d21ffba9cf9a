import LockstepModel
import LockstepSQLite

/// Reads aggregates (means and sums) over time spans.
///
/// It runs one query per span instead of `GROUP BY t / span`. SQLite does not know that this expression increases with
/// `t`, so it would sort all samples before returning the first row.
final class AverageCursor: QueryCursor {
    /// Finds the first sample at or after ``position``.
    private let first: SQLiteStatement
    /// Computes the aggregates of one span.
    private let average: SQLiteStatement
    private let columns: [SensorStream.Column]
    private let times: Range<Int64>
    /// The length of a span, in µs.
    private let span: Int64
    /// The start of the next search for a sample, in µs since 1970.
    private var position: Int64

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, span: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: stream.table, in: database)
        guard !present.isEmpty else { return nil }
        let source = "FROM \(stream.table) WHERE device_id = ? AND t >= ? AND t < ?"
        first = try database.prepare("SELECT t \(source) ORDER BY t LIMIT 1")
        let values = stream.columns.compactMap { column in
            column.aggregateSQL.map { present.contains(column.name) ? $0 : "NULL" }
        }
        average = try database.prepare("SELECT \((values + ["count(*)"]).joined(separator: ", ")) \(source)")
        columns = stream.aggregateColumns
        self.times = times
        self.span = span
        position = times.lowerBound
        try first.bind(times.upperBound, at: 3)
    }

    func start(device: Int64) throws(SQLiteError) {
        position = times.lowerBound
        reset()
        try first.bind(device, at: 1)
        try average.bind(device, at: 1)
    }

    func reset() {
        first.reset()
        average.reset()
    }

    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        try first.bind(position, at: 2)
        guard try first.step() else { return nil }
        let found = first.int64(at: 0)
        first.reset()
        let start = spanStart(found)
        try average.bind(found, at: 2)
        try average.bind(min(start + span, times.upperBound), at: 3)
        guard try average.step() else { return nil }
        let values = columns.indices.map { columns[$0].kind.read(average, at: $0) }
        average.reset()
        position = start + span
        return (Timestamp(microseconds: start), values)
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
