import LockstepModel
import LockstepSQLite

/// Reads aggregates over time spans: those of averages, and the least and greatest values of envelopes.
///
/// It runs one query per span instead of `GROUP BY t / span`. SQLite does not know that this expression increases with
/// `t`, so it would sort all samples before returning the first row.
final class SpanCursor: QueryCursor {
    /// Finds the first sample of the table at or after ``position``.
    private let firstStored: SQLiteStatement
    /// Adds the rows of the table in a part of a span.
    private let rows: SQLiteStatement
    /// Reads the summaries of minutes; nil if the store has none.
    private let minutes: SQLiteStatement?
    /// Finds the first minute at or after ``position``: it may have no samples any more. Nil if spans are not whole minutes.
    private let firstMinute: SQLiteStatement?
    private let limits: [Int64: Int64]
    /// The time before which summaries of the current device are not used: they are all that is left of their minutes, and no part
    /// of them can be told from another.
    private var summariesFrom: Int64 = .min
    private let waiting: WaitingReader.Stream?
    private let stream: SensorStream
    /// The parts of the answer, each with the position of its column in ``indexes``.
    private let columns: [(position: Int, part: SummaryColumn.Part)]
    /// The indexes of the stream's columns that the answer needs, and the parts that are read of their summaries.
    private let indexes: [Int]
    private let parts: [[SummaryColumn.Part]]
    private let sums: ColumnSums
    private let times: Range<Int64>
    private let spans: SummarySpans
    /// The start of the next search for a sample, in µs since 1970.
    private var position: Int64
    /// Whether the span before ``position`` has samples.
    private var followsSamples = false
    /// The samples of the current device that were waiting at the start, in order, and the index of the first one that may be at
    /// or after ``position``. For spans without such samples, the table is enough.
    private var waitingRows: [WaitingReader.Row] = []
    private var nextWaiting = 0
    /// Whether all spans of the current device are read from one snapshot, so that these samples keep waiting.
    private var hasSnapshot = false
    private let driver: SQLiteDriver
    private let database: SQLiteDatabase
    private var device: Int64 = 0

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    /// - Parameter columns: the parts of the answer.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, _ spans: SummarySpans, _ columns: [SummaryColumn],
        in reader: SQLiteDriver
    ) throws(SQLiteError) {
        driver = reader
        database = reader.database
        guard let stored = try RowColumns(of: stream, in: database) else { return nil }
        self.stream = stream
        let wanted = Dictionary(grouping: columns, by: \.column.name)
        let used = stream.columns.filter { wanted[$0.name] != nil }
        indexes = stream.columns.indices.filter { wanted[stream.columns[$0].name] != nil }
        // Without the number of values, it is not known whether there are any.
        parts = used.map { column in [.count] + (wanted[column.name] ?? []).map(\.part).filter { $0 != .count } }
        self.columns = columns.map { column in
            (used.firstIndex { $0.name == column.column.name } ?? 0, column.part)
        }
        let range = "WHERE device_id = ?1 AND t >= ?2 AND t < ?3"
        firstStored = try database.prepare("SELECT t FROM \(stream.rowTable) \(range) ORDER BY t LIMIT 1")
        let list = ["t"] + used.map { stored.order.contains($0.name) ? $0.name : "NULL" }
        sums = try reader.columnSums()
        rows = try database.prepare(
            "SELECT column_sums(\(list.joined(separator: ", "))) FROM \(stream.rowTable) \(range)")
        if spans.width >= Minute.length, reader.usesSummaries, try stream.hasMinutes(in: database) {
            let names = zip(used, parts).flatMap { column, parts in
                parts.map { SummaryColumn(column: column, part: $0).name }
            }
            minutes = try database.prepare(
                """
                SELECT \((["t", "samples"] + names).joined(separator: ", ")) FROM \(stream.minutesTable)
                \(range) ORDER BY t
                """)
            let areWhole = spans.haveWholeMinutes
            firstMinute =
                areWhole
                ? try database.prepare("SELECT t FROM \(stream.minutesTable) \(range) ORDER BY t LIMIT 1") : nil
            limits = areWhole ? [:] : try ExpiredTable.limits(of: stream, in: database)
        } else {
            (minutes, firstMinute, limits) = (nil, nil, [:])
        }
        waiting = try reader.waiting.stream(stream)
        self.times = times
        self.spans = spans
        position = times.lowerBound
    }

    func start(device: Int64) throws(SQLiteError) {
        position = times.lowerBound
        self.device = device
        summariesFrom = limits[device] ?? .min
        reset()
        for statement in [firstStored, rows, minutes, firstMinute] { try statement?.bind(device, at: 1) }
        hasSnapshot = database.isInTransaction
        waitingRows = try waiting?.rows(of: device, times) ?? []
        nextWaiting = 0
        followsSamples = false
    }

    func reset() {
        for statement in [firstStored, rows, minutes, firstMinute] { statement?.reset() }
    }

    /// Returns the next averages, see ``SensorStream/averageColumns``.
    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        try nextSpan().map { start, samples, values in
            (Timestamp(microseconds: start), stream.averages(values, samples: samples))
        }
    }

    /// Returns the start of the next span with samples, their number and the values of the columns.
    func nextSpan() throws(SQLiteError) -> (start: Int64, samples: Int64, values: [Double])? {
        while let time = try nextTime() {
            if let span = try span(from: time) { return span }
        }
        return nil
    }

    /// The time of the first sample from ``position`` on that was waiting at the start, or `Int64.max` if there is none.
    private var waitingStart: Int64 { nextWaiting < waitingRows.count ? waitingRows[nextWaiting].time : .max }

    /// Returns the time of the next sample, or the start of a span that follows one with samples: it usually has some, and is read
    /// in the time of a search for the first one.
    private func nextTime() throws(SQLiteError) -> Int64? {
        while nextWaiting < waitingRows.count, waitingRows[nextWaiting].time < position { nextWaiting += 1 }
        if followsSamples, position < times.upperBound { return position }
        // Samples that are moved during the query are found in both ways, so a span may be read in either.
        return try firstStoredTime(before: waitingStart) ?? (waitingStart < .max ? waitingStart : nil)
    }

    /// Reads the span of a time. The span has no samples before it.
    private func span(from found: Int64) throws(SQLiteError) -> (start: Int64, samples: Int64, values: [Double])? {
        let start = spans.start(of: found)
        let end = min(start + spans.width, times.upperBound)
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
                let recent =
                    try hasSnapshot
                    ? Array(waitingRows[nextWaiting...].prefix { $0.time < end })
                    : waiting?.rows(of: device, found..<end) ?? []
                for row in recent {
                    sums.add(row.time, indexes.map { row.values[$0] })
                }
            }
        }
        position = start + spans.width
        followsSamples = sums.rows > 0
        guard followsSamples else { return nil }
        return (start, sums.rows, columns.map { sums[$0.position].value(of: $0.part) })
    }

    private func addRows(in times: Range<Int64>) throws(SQLiteError) {
        try rows.bind(times.lowerBound, at: 2)
        try rows.bind(times.upperBound, at: 3)
        try rows.run()
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
            sums.add(rows: minutes.int64(at: 1), parts.map { ColumnSums.Column($0, minutes, at: &next) })
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
}
