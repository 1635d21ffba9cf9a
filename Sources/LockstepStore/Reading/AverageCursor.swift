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
    /// The columns with an aggregate.
    private let columns: [SensorStream.Column]
    private let sums: ColumnSums
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
        _ stream: SensorStream, _ times: Range<Int64>, span: Int64, in reader: StoreReader
    ) throws(SQLiteError) {
        let database = reader.database
        guard let stored = try MergedColumns(of: stream, in: database) else { return nil }
        let indexes = stream.columns.indices.filter { stream.columns[$0].aggregate != .none }
        let rows = "FROM \(stream.mergedTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
        firstMerged = try database.prepare("SELECT t \(rows) ORDER BY t LIMIT 1")
        // The 1 counts the rows of a stream without aggregates.
        let list = indexes.map { "\(stored.names[$0] ?? "NULL") AS c\($0)" } + ["1 AS one"]
        let aliases = (indexes.map { "c\($0)" } + ["one"]).joined(separator: ", ")
        var allRows = "SELECT \(list.joined(separator: ", ")) \(rows)"
        sums = try reader.columnSums()
        merged = try database.prepare("SELECT column_sums(\(aliases)) FROM (\(allRows))")
        if let unmerged = try LogReader.selectOfDevice(stream, in: database) {
            allRows +=
                " UNION ALL SELECT \((indexes.map { "c\($0)" } + ["1"]).joined(separator: ", ")) FROM (\(unmerged))"
        }
        all = try database.prepare("SELECT column_sums(\(aliases)) FROM (\(allRows))")
        log = try LogReader(stream, in: database)
        columns = indexes.map { stream.columns[$0] }
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
        sums.begin(divisors: columns.map(\.kind.divisor))
        try average.run()
        let values = columns.indices.map { columns[$0].value(of: sums[$0]) } + [Double(sums.rows)]
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
    /// Returns the aggregate of the column, or NaN if no value is known.
    fileprivate func value(of sums: ColumnSums.Column) -> Double {
        guard sums.count > 0 else { return .nan }
        let mean = sums.sum / Double(sums.count)
        switch aggregate {
        case .mean: return mean
        case .sum: return sums.sum
        case .none: return .nan
        case .meanLongitude:
            // If the values lie on both sides of the 180th meridian, 360° is added to negative values before averaging.
            guard sums.maximum - sums.minimum > 180 else { return mean }
            let shifted = (sums.sum + 360 * Double(sums.negatives)) / Double(sums.count)
            return shifted > 180 ? shifted - 360 : shifted
        }
    }
}
