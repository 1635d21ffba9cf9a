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
    /// Reads the summaries of minutes; nil if the store has none.
    private let minutes: SQLiteStatement?
    /// Finds the first minute at or after ``position``: it may have no samples any more. Nil if spans are not whole minutes.
    private let firstMinute: SQLiteStatement?
    private let limits: [Int64: Int64]
    /// The time before which summaries of the current device are not used: they are all that is left of their minutes, and no part
    /// of them can be told from another.
    private var summariesFrom: Int64 = .min
    private let waiting: WaitingReader.Stream?
    /// The stream, and the indexes of its columns with an aggregate.
    private let stream: SensorStream
    private let indexes: [Int]
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
    private let driver: SQLiteDriver
    private let database: SQLiteDatabase
    private var device: Int64 = 0

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, span: Int64, in reader: SQLiteDriver
    ) throws(SQLiteError) {
        driver = reader
        database = reader.database
        guard let stored = try RowColumns(of: stream, in: database) else { return nil }
        self.stream = stream
        indexes = stream.columns.indices.filter { stream.columns[$0].aggregate != .none }
        let rows = "FROM \(stream.rowTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
        firstStored = try database.prepare("SELECT t \(rows) ORDER BY t LIMIT 1")
        let columns = indexes.map { stream.columns[$0] }
        let list = ["t"] + columns.map { stored.order.contains($0.name) ? $0.name : "NULL" }
        sums = try reader.columnSums()
        average = try database.prepare("SELECT column_sums(\(list.joined(separator: ", "))) \(rows)")
        if span >= Minute.length, reader.usesSummaries, try stream.hasMinutes(in: database) {
            let names = columns.flatMap { $0.summaryColumns.map(\.name) }
            minutes = try database.prepare(
                """
                SELECT \((["t", "samples"] + names).joined(separator: ", ")) FROM \(stream.minutesTable)
                WHERE device_id = ?1 AND t >= ?2 AND t < ?3 ORDER BY t
                """)
            let areWhole = span % Minute.length == 0
            firstMinute =
                areWhole
                ? try database.prepare(
                    """
                    SELECT t FROM \(stream.minutesTable) WHERE device_id = ?1 AND t >= ?2 AND t < ?3 ORDER BY t LIMIT 1
                    """) : nil
            limits = areWhole ? [:] : try ExpiredTable.limits(of: stream, in: database)
        } else {
            (minutes, firstMinute, limits) = (nil, nil, [:])
        }
        waiting = try reader.waiting.stream(stream)
        self.times = times
        self.span = span
        position = times.lowerBound
    }

    func start(device: Int64) throws(SQLiteError) {
        position = times.lowerBound
        self.device = device
        summariesFrom = limits[device] ?? .min
        reset()
        for statement in [firstStored, average, minutes, firstMinute] { try statement?.bind(device, at: 1) }
        waitingTimes = try waiting?.rows(of: device, times).map(\.time) ?? []
        nextWaiting = 0
    }

    func reset() {
        for statement in [firstStored, average, minutes, firstMinute] { statement?.reset() }
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
        sums.begin(columns: indexes.count, part: Minute.length)
        let hasMinutes = minutes != nil && !Minute.whole(in: max(start, times.lowerBound)..<end).isEmpty
        if end <= waitingStart, !hasMinutes {
            try addRows(in: found..<end)
        } else {
            // All reads need the same snapshot.
            let isOutermost = !database.isInTransaction
            if isOutermost { try database.execute("BEGIN") }
            defer { if isOutermost { try? database.execute("COMMIT") } }
            // There may be no sample before the first one in its minute, but the minute has a summary.
            try hasMinutes ? addMinutes(in: max(start, times.lowerBound)..<end) : addRows(in: found..<end)
            if end > waitingStart {
                // They are no part of a summary, so that they do not belong to the sum of the last minute either.
                sums.endPart()
                for row in try waiting?.rows(of: device, found..<end) ?? [] {
                    sums.add(row.time, indexes.map { row.values[$0] })
                }
            }
        }
        let parts = indexes.enumerated().flatMap { position, index in
            let column = sums[position]
            return stream.columns[index].averageParts.map { column.value(of: $0) }
        }
        let values = stream.averages(parts, samples: sums.rows)
        position = start + span
        return (Timestamp(microseconds: start), values)
    }

    private func addRows(in times: Range<Int64>) throws(SQLiteError) {
        try average.bind(times.lowerBound, at: 2)
        try average.bind(times.upperBound, at: 3)
        try average.run()
    }

    /// Adds the summaries of whole minutes, and the rows of the table that are in none of these, in order of time: then sums are
    /// exactly those of the rows alone.
    private func addMinutes(in times: Range<Int64>) throws(SQLiteError) {
        guard let minutes else { return }
        let whole = Minute.whole(in: times)
        try minutes.bind(max(whole.lowerBound, summariesFrom), at: 2)
        try minutes.bind(whole.upperBound, at: 3)
        defer { minutes.reset() }
        var position = times.lowerBound
        while try minutes.step() {
            let minute = minutes.int64(at: 0)
            if position < minute { try addRows(in: position..<minute) }
            var next = 2
            let columns = indexes.map { ColumnSums.Column(stream.columns[$0].summaryColumns, minutes, at: &next) }
            sums.add(rows: minutes.int64(at: 1), columns)
            driver.summarised += minutes.int64(at: 1)
            position = minute + Minute.length
        }
        if position < times.upperBound { try addRows(in: position..<times.upperBound) }
    }

    /// Returns the time of the first sample of the table at or after ``position`` and before `end`, or the start of a minute before
    /// it that has a summary; nil if there is none.
    private func firstStoredTime(before end: Int64) throws(SQLiteError) -> Int64? {
        guard position < end else { return nil }
        let end = min(end, times.upperBound)
        let sample = try first(of: firstStored, in: position..<max(position, end))
        guard let firstMinute else { return sample }
        // Before the first minute that exists, there is none.
        let start = max(position, .min + Minute.length)
        let minutes = Minute.whole(in: start..<max(start, times.upperBound))
        let before = min(minutes.upperBound, sample ?? end)
        return try first(of: firstMinute, in: minutes.lowerBound..<max(minutes.lowerBound, before)) ?? sample
    }

    private func first(of statement: SQLiteStatement, in range: Range<Int64>) throws(SQLiteError) -> Int64? {
        guard !range.isEmpty else { return nil }
        try statement.bind(range.lowerBound, at: 2)
        try statement.bind(range.upperBound, at: 3)
        defer { statement.reset() }
        return try statement.step() ? statement.int64(at: 0) : nil
    }

    /// Returns the start of the span that contains `time`: the greatest multiple of `span` that is at most `time`.
    private func spanStart(_ time: Int64) -> Int64 {
        let rest = time % span
        return time - (rest < 0 ? rest + span : rest)
    }
}
