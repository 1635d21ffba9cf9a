import LockstepModel
import LockstepSQLite

/// Reads aggregates (means and sums) over time spans.
///
/// It runs one query per span instead of `GROUP BY t / span`. SQLite does not know that this expression increases with
/// `t`, so it would sort all samples before returning the first row.
final class AverageCursor: QueryCursor {
    /// Finds the first merged sample at or after ``position``.
    private let firstMerged: SQLiteStatement
    /// Computes the aggregates of one span, from the table of merged rows.
    private let merged: SQLiteStatement
    /// Computes them from the logs and runs as well. It searches only those parts that may contain the span, and the view
    /// of the stream would search all of them.
    private let all: SQLiteStatement
    private let log: LogReader?
    private let columns: [SensorStream.Column]
    private let times: Range<Int64>
    /// The length of a span, in µs.
    private let span: Int64
    /// The start of the next search for a sample, in µs since 1970.
    private var position: Int64
    /// The times of the rows of the current device that were not merged at the start, in order, and the index of the
    /// first one that may be at or after ``position``. For spans without such rows, the table of merged rows is enough.
    private var unmerged: [Int64] = []
    private var nextUnmerged = 0

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, span: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: stream.table, in: database)
        guard !present.isEmpty else { return nil }
        let values = stream.columns.compactMap { column in
            column.aggregateSQL.map { present.contains(column.name) ? $0 : "NULL" }
        }
        let rows = "FROM \(stream.mergedTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
        let list = (values + ["count(*)"]).joined(separator: ", ")
        firstMerged = try database.prepare("SELECT t \(rows) ORDER BY t LIMIT 1")
        merged = try database.prepare("SELECT \(list) \(rows)")
        var allRows = rows
        if let unmerged = try LogReader.selectOfDevice(stream, in: database) {
            let indexes = stream.columns.indices.filter { present.contains(stream.columns[$0].name) }
            let names = (["t"] + indexes.map { stream.columns[$0].name }).joined(separator: ", ")
            let sources = (["t"] + indexes.map { "c\($0)" }).joined(separator: ", ")
            allRows = "FROM (SELECT \(names) \(rows) UNION ALL SELECT \(sources) FROM (\(unmerged)))"
        }
        all = try database.prepare("SELECT \(list) \(allRows)")
        log = try LogReader(stream, in: database)
        columns = stream.aggregateColumns
        self.times = times
        self.span = span
        position = times.lowerBound
    }

    func start(device: Int64) throws(SQLiteError) {
        position = times.lowerBound
        reset()
        for statement in [firstMerged, merged, all] { try statement.bind(device, at: 1) }
        unmerged = try log?.times(of: device, times) ?? []
        nextUnmerged = 0
    }

    func reset() {
        for statement in [firstMerged, merged, all] { statement.reset() }
    }

    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        while nextUnmerged < unmerged.count, unmerged[nextUnmerged] < position { nextUnmerged += 1 }
        let logStart = nextUnmerged < unmerged.count ? unmerged[nextUnmerged] : .max
        // Rows that are merged during the query are found in both ways, so a span may be read in either.
        var first = try firstMergedTime(before: logStart)
        if first == nil, logStart < .max { first = logStart }
        guard let found = first else { return nil }
        let start = spanStart(found)
        let end = min(start + span, times.upperBound)
        let average = end <= logStart ? merged : all
        try average.bind(found, at: 2)
        try average.bind(end, at: 3)
        guard try average.step() else { return nil }
        let values = columns.indices.map { columns[$0].kind.read(average, at: $0) }
        average.reset()
        position = start + span
        return (Timestamp(microseconds: start), values)
    }

    /// Returns the time of the first merged sample at or after ``position`` and before `end`, or nil if there is none.
    private func firstMergedTime(before end: Int64) throws(SQLiteError) -> Int64? {
        guard position < end else { return nil }
        try firstMerged.bind(position, at: 2)
        try firstMerged.bind(min(end, times.upperBound), at: 3)
        defer { firstMerged.reset() }
        return try firstMerged.step() ? firstMerged.int64(at: 0) : nil
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
