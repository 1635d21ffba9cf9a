import LockstepModel
import LockstepSQLite

/// Reads aggregates (means and sums) over time spans.
///
/// It runs one query per span instead of `GROUP BY t / span`. SQLite does not know that this expression increases with
/// `t`, so it would sort all samples before returning the first row.
final class AverageCursor: QueryCursor {
    /// Finds the first sample of the table at or after ``position``.
    private let firstStored: SQLiteStatement
    /// Computes the aggregates of one span, from the table.
    private let average: SQLiteStatement
    private let waiting: WaitingReader.Stream?
    /// The indexes of the columns with an aggregate.
    private let indexes: [Int]
    /// The columns with an aggregate.
    private let columns: [SensorStream.Column]
    private let sums: ColumnSums
    private let times: Range<Int64>
    /// The length of a span, in µs.
    private let span: Int64
    /// The start of the next search for a sample, in µs since 1970.
    private var position: Int64
    /// The times of the samples of the current device that were waiting at the start, in order, and the index of the first one
    /// that may be at or after ``position``. For spans without such samples, the table is enough.
    private var waitingTimes: [Int64] = []
    private var nextWaiting = 0
    private let database: SQLiteDatabase
    private var device: Int64 = 0

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, span: Int64, in reader: SQLiteDriver
    ) throws(SQLiteError) {
        database = reader.database
        guard let stored = try RowColumns(of: stream, in: database) else { return nil }
        indexes = stream.columns.indices.filter { stream.columns[$0].aggregate != .none }
        let rows = "FROM \(stream.rowTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
        firstStored = try database.prepare("SELECT t \(rows) ORDER BY t LIMIT 1")
        columns = indexes.map { stream.columns[$0] }
        // The 1 counts the rows of a stream without aggregates.
        let list = columns.map { stored.order.contains($0.name) ? $0.name : "NULL" } + ["1"]
        sums = try reader.columnSums()
        average = try database.prepare("SELECT column_sums(\(list.joined(separator: ", "))) \(rows)")
        waiting = try reader.waiting.stream(stream)
        self.times = times
        self.span = span
        position = times.lowerBound
    }

    func start(device: Int64) throws(SQLiteError) {
        position = times.lowerBound
        self.device = device
        reset()
        for statement in [firstStored, average] { try statement.bind(device, at: 1) }
        waitingTimes = try waiting?.rows(of: device, times).map(\.time) ?? []
        nextWaiting = 0
    }

    func reset() {
        for statement in [firstStored, average] { statement.reset() }
    }

    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        while nextWaiting < waitingTimes.count, waitingTimes[nextWaiting] < position { nextWaiting += 1 }
        let waitingStart = nextWaiting < waitingTimes.count ? waitingTimes[nextWaiting] : .max
        // Samples that are moved during the query are found in both ways, so a span may be read in either.
        var first = try firstStoredTime(before: waitingStart)
        if first == nil, waitingStart < .max { first = waitingStart }
        guard let found = first else { return nil }
        let start = spanStart(found)
        let end = min(start + span, times.upperBound)
        try average.bind(found, at: 2)
        try average.bind(end, at: 3)
        sums.begin(columns: columns.count)
        if end <= waitingStart {
            try average.run()
        } else {
            // Both reads need the same snapshot.
            let isOutermost = !database.isInTransaction
            if isOutermost { try database.execute("BEGIN") }
            defer { if isOutermost { try? database.execute("COMMIT") } }
            try average.run()
            for row in try waiting?.rows(of: device, found..<end) ?? [] { sums.add(indexes.map { row.values[$0] }) }
        }
        let values = columns.indices.map { columns[$0].value(of: sums[$0]) } + [Double(sums.rows)]
        position = start + span
        return (Timestamp(microseconds: start), values)
    }

    /// Returns the time of the first sample of the table at or after ``position`` and before `end`, or nil if there is none.
    private func firstStoredTime(before end: Int64) throws(SQLiteError) -> Int64? {
        guard position < end else { return nil }
        try firstStored.bind(position, at: 2)
        try firstStored.bind(min(end, times.upperBound), at: 3)
        defer { firstStored.reset() }
        return try firstStored.step() ? firstStored.int64(at: 0) : nil
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
