import LockstepModel
import LockstepSQLite

// The summaries of minutes in an SQLite store. A summary covers the rows in the table of samples, not those in `_waiting`. It exists
// only while it is right: what inserts or removes rows deletes the summaries of their minutes in the same transaction. So a
// missing summary means that rows are to be read, and nothing has to be told to readers.
//
// Before the time before which samples of a series have left, a summary may be all that is left of a minute. It is made before the
// first row of the minute leaves, and nothing is stored there that it does not have: only held minutes, which have their rows.

extension SensorStream {
    /// The table with the summaries of the stream's minutes.
    var minutesTable: String { "_minutes_\(table)" }

    var createMinutesTable: String {
        let values = summaryColumns.map { "\($0.name) \($0.part == .count ? "INTEGER" : "REAL"),\n    " }
        return """
            CREATE TABLE IF NOT EXISTS \(minutesTable) (
                -- Summaries of minutes of \(rowTable): of each column the sum, number, minimum and maximum of the known values.
                -- A minute has none if it has few samples, is new, or has changed lately. If you change rows, delete theirs.
                device_id INTEGER NOT NULL,
                t INTEGER NOT NULL, -- start of the minute, in µs since 1970-01-01 UTC
                samples INTEGER NOT NULL,
                \(values.joined())PRIMARY KEY (device_id, t)
            ) WITHOUT ROWID
            """
    }

    /// Adds the missing columns of the table of summaries, if it exists. A new column has no values in older minutes.
    func addMinuteColumns(in database: SQLiteDatabase) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: minutesTable, in: database)
        for column in summaryColumns where !present.isEmpty && !present.contains(column.name) {
            try database.execute(
                "ALTER TABLE \(minutesTable) ADD COLUMN \(column.name) \(column.part == .count ? "INTEGER" : "REAL")")
        }
    }

    /// Returns whether the store has summaries with all columns of the stream.
    func hasMinutes(in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        let present = try StoreSchema.columns(of: minutesTable, in: database)
        return !present.isEmpty && summaryColumns.allSatisfy { present.contains($0.name) }
    }
}

/// Writes the summaries of one stream, and knows how far those of each device go. The tables exist from their first use on.
final class MinuteSummaries {
    /// The statement that creates the table of marks.
    private static let create = """
        CREATE TABLE IF NOT EXISTS _summarised (
            -- How far the minutes of a stream of a device have been summarised in _minutes_...
            stream_id INTEGER NOT NULL,
            device_id INTEGER NOT NULL REFERENCES _devices,
            upto INTEGER NOT NULL, -- minutes before this time have not changed since they were looked at
            until INTEGER NOT NULL, -- no minute from this time on has a summary
            PRIMARY KEY (stream_id, device_id)
        ) WITHOUT ROWID
        """

    /// The least number of samples of a minute that is worth a summary: of fewer, the rows are read as quickly.
    static let leastSamples = 50
    /// How long before the newest sample an hour must have ended before its minutes are summarised, in µs. All of an hour are
    /// written together, because each would rewrite a page.
    static let age: Int64 = 600_000_000
    /// The greatest number of summaries that are discarded in a transaction: those of a day.
    private static let discardedMinutes = 1440
    private static let hour: Int64 = 3_600_000_000
    /// The time in µs between two samples from which on the summaries between them are not deleted with theirs.
    private static let stretch: Int64 = 600_000_000

    private struct Mark {
        var upto: Int64
        var until: Int64
    }

    private let stream: SensorStream
    private let streamID: Int64
    private let database: SQLiteDatabase
    /// The known marks.
    private var marks = NumberMap<Mark>()
    /// The statements that need the tables; nil if these do not exist, or that is not known.
    private var selectMark: SQLiteStatement?
    private var writeMark: SQLiteStatement?
    private var delete: SQLiteStatement?
    private var summariser: Summariser?

    /// Call it within a transaction.
    init(_ stream: SensorStream, id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        streamID = id
        self.database = database
        if try hasMarks, try StoreSchema.columns(of: stream.minutesTable, in: database).isEmpty {
            // A person may have dropped the table: all summaries are made again.
            try database.execute("DELETE FROM _summarised WHERE stream_id = \(id) AND until > \(Int64.min)")
        }
    }

    private var hasMarks: Bool {
        get throws(SQLiteError) { try !StoreSchema.columns(of: "_summarised", in: database).isEmpty }
    }

    // MARK: What changes

    /// Deletes the summaries of the minutes in which samples are inserted, as part of the current transaction. Usually they are
    /// newer than all.
    /// - Parameter expiry: the time before which samples have left. Between two minutes before it, summaries stay: they may be all
    ///   that is left.
    func willInsert(_ times: ArraySlice<Int64>, of device: Int64, expiry: Int64) throws(SQLiteError) {
        let mark = try mark(of: device)
        let limit = max(mark.upto, mark.until)
        var hull: ClosedRange<Int64>?
        for time in times where time < limit {
            if let known = hull {
                let joined = min(time, known.lowerBound)...max(time, known.upperBound)
                let isNear =
                    joined.lowerBound < expiry
                    ? Self.minute(of: joined.lowerBound) == Self.minute(of: joined.upperBound)
                    : time <= known.upperBound &+ Self.stretch && time >= known.lowerBound &- Self.stretch
                if !isNear { try forget(known, of: device) }
                hull = isNear ? joined : time...time
            } else {
                hull = time...time
            }
        }
        if let hull { try forget(hull, of: device) }
    }

    private func forget(_ times: ClosedRange<Int64>, of device: Int64) throws(SQLiteError) {
        try willRemove(times, of: device)
        let mark = try mark(of: device)
        let first = Self.minute(of: times.lowerBound)
        if first < mark.upto { try write(Mark(upto: first, until: mark.until), of: device) }
    }

    /// Deletes the summaries of the minutes in which samples are removed, as part of the current transaction. Those that are left
    /// of them are read as rows from then on.
    func willRemove(_ times: ClosedRange<Int64>, of device: Int64) throws(SQLiteError) {
        guard try times.lowerBound < mark(of: device).until else { return }
        // There is a summary, so there is the table.
        if delete == nil {
            delete = try database.prepare(
                "DELETE FROM \(stream.minutesTable) WHERE device_id = ? AND t >= ? AND t < ?", persistent: true)
        }
        guard let delete else { return }
        try delete.bind(device, at: 1)
        try delete.bind(Self.minute(of: times.lowerBound), at: 2)
        let (end, overflows) = times.upperBound.addingReportingOverflow(1)
        try delete.bind(overflows ? .max : end, at: 3)
        try delete.run()
    }

    /// Deletes a piece of the summaries of a device whose samples are in the table, as part of the current transaction, so that they
    /// are made again.
    /// - Parameters:
    ///   - position: the first minute of the piece, `Int64.min` for the first one.
    ///   - limit: the time before which samples have left. Before it, a summary of more samples than the table has is all that is
    ///     left of its minute, and stays.
    /// - Returns: the first minute of the next piece, or nil at the end.
    func discard(of device: Int64, from position: Int64, limit: Int64) throws(SQLiteError) -> Int64? {
        let mark = try mark(of: device)
        if mark.upto > .min { try write(Mark(upto: .min, until: mark.until), of: device) }
        guard mark.until > .min else { return nil }
        let own = "device_id = \(device) AND t >= \(position)"
        let select = try database.prepare(
            "SELECT t FROM \(stream.minutesTable) WHERE \(own) ORDER BY t LIMIT 1 OFFSET \(Self.discardedMinutes)")
        let next = try select.step() ? select.int64(at: 0) : nil
        select.reset()
        try database.execute(
            """
            DELETE FROM \(stream.minutesTable) AS minute
            WHERE \(own) AND t < \(next ?? .max) AND (t >= \(limit) OR samples <= (
                SELECT count(*) FROM \(stream.rowTable) AS sample
                WHERE sample.device_id = \(device) AND sample.t >= minute.t AND sample.t < minute.t + \(Minute.length)))
            """)
        return next
    }

    private static func minute(of time: Int64) -> Int64 { Minute.start(of: max(time, .min + Minute.length)) }

    private func mark(of device: Int64) throws(SQLiteError) -> Mark {
        if let known = marks[Int(device)] { return known }
        var found = Mark(upto: .min, until: .min)
        if selectMark == nil, try hasMarks {
            selectMark = try database.prepare(
                "SELECT upto, until FROM _summarised WHERE stream_id = \(streamID) AND device_id = ?", persistent: true)
        }
        if let selectMark {
            try selectMark.bind(device, at: 1)
            defer { selectMark.reset() }
            if try selectMark.step() { found = Mark(upto: selectMark.int64(at: 0), until: selectMark.int64(at: 1)) }
        }
        marks[Int(device)] = found
        return found
    }

    private func write(_ mark: Mark, of device: Int64) throws(SQLiteError) {
        if writeMark == nil {
            try database.execute(Self.create)
            writeMark = try database.prepare(
                "INSERT OR REPLACE INTO _summarised VALUES (\(streamID), ?, ?, ?)", persistent: true)
        }
        guard let writeMark else { return }
        try writeMark.bind(device, at: 1)
        try writeMark.bind(mark.upto, at: 2)
        try writeMark.bind(mark.until, at: 3)
        try writeMark.run()
        marks[Int(device)] = mark
    }

    /// Forgets what the reverted transaction may have changed: marks, and which tables exist.
    func rollBack() {
        marks = NumberMap()
        (selectMark, writeMark, delete, summariser) = (nil, nil, nil, nil)
    }

    // MARK: Minutes whose samples leave

    /// Makes the missing summaries of minutes with rows as part of the current transaction: their rows leave.
    /// - Parameters:
    ///   - times: whole minutes.
    ///   - sums: the function of the connection.
    ///   - least: the least number of rows of a minute that gets a summary.
    func complete(
        _ device: Int64, _ times: Range<Int64>, _ sums: ColumnSums, least: Int = 1
    ) throws(SQLiteError) {
        if summariser == nil { summariser = try Summariser(stream, in: database) }
        guard var summariser else { return }
        defer { self.summariser = summariser }
        var mark = try mark(of: device)
        let until = mark.until
        var position = times.lowerBound
        while position < times.upperBound {
            let gap = try summariser.gap(of: device, in: position..<times.upperBound)
            position = gap.lowerBound
            while let minute = try summariser.next(of: device, in: position..<gap.upperBound) {
                position = minute + Minute.length
                try summariser.sum(minute, of: device, sums)
                guard sums.rows >= least else { continue }
                try summariser.write(minute, of: device, sums)
                mark.until = max(mark.until, position)
            }
            position = gap.upperBound
        }
        if mark.until != until { try write(mark, of: device) }
    }

    /// Adds samples to the summaries of their minutes, as part of the current transaction. They have waited, and do not reach the
    /// table because those of their time have left.
    func add(_ samples: SampleBlock, of device: Int64, _ sums: ColumnSums) throws(SQLiteError) {
        let minutes = Dictionary(grouping: samples.times.indices) { Self.minute(of: samples.times[$0]) }
        for (minute, indices) in minutes.sorted(by: { $0.key < $1.key }) {
            // Its rows may not have left yet.
            try complete(device, minute..<minute + Minute.length, sums)
            guard var summariser else { return }
            try summariser.read(minute, of: device, sums)
            for index in indices.sorted(by: { samples.times[$0] < samples.times[$1] }) {
                sums.add(samples.times[index], summariser.indexes.map { samples.columns[$0][index] })
            }
            try summariser.write(minute, of: device, sums)
            self.summariser = summariser
            var mark = try mark(of: device)
            mark.until = max(mark.until, minute + Minute.length)
            try write(mark, of: device)
        }
    }

    /// Returns the minutes in a range whose summaries have more samples than the table.
    func standingAlone(_ device: Int64, in times: Range<Int64>) throws(SQLiteError) -> [Range<Int64>] {
        let minutes = Minute.around(times)
        guard try minutes.lowerBound < mark(of: device).until else { return [] }
        let select = try database.prepare(
            """
            SELECT t FROM \(stream.minutesTable) AS minute WHERE device_id = ?1 AND t >= ?2 AND t < ?3 AND samples > (
                SELECT count(*) FROM \(stream.rowTable)
                WHERE device_id = ?1 AND t >= minute.t AND t < minute.t + \(Minute.length))
            """)
        try select.bind(device, at: 1)
        try select.bind(minutes.lowerBound, at: 2)
        try select.bind(minutes.upperBound, at: 3)
        var found: [Range<Int64>] = []
        while try select.step() { found.append(select.int64(at: 0)..<select.int64(at: 0) + Minute.length) }
        return found
    }

    // MARK: Summarising

    /// Summarises minutes of a device that have no summary, as part of the current transaction.
    /// - Parameters:
    ///   - newest: the time of the newest sample.
    ///   - sums: the function of the connection.
    ///   - isOver: whether to end after the current minute.
    /// - Returns: whether the last one was reached.
    func summarise(
        _ device: Int64, newest: Int64, _ sums: ColumnSums, until isOver: () -> Bool
    ) throws(SQLiteError) -> Bool {
        var mark = try mark(of: device)
        let end = SummarySpans(origin: 0, width: Self.hour).start(of: max(newest, .min + 2 * Self.hour) - Self.age)
        guard mark.upto < end else { return true }
        if summariser == nil { summariser = try Summariser(stream, in: database) }
        guard var summariser else { return true }
        defer { self.summariser = summariser }
        var position = mark.upto
        while position < end {
            let gap = try summariser.gap(of: device, in: position..<end)
            position = gap.lowerBound
            var mustEnd = false
            while position < gap.upperBound, !mustEnd {
                if let minute = try summariser.minute(of: device, in: position..<gap.upperBound) {
                    position = minute + Minute.length
                    try summariser.sum(minute, of: device, sums)
                    if sums.rows >= Self.leastSamples {
                        try summariser.write(minute, of: device, sums)
                        mark.until = max(mark.until, position)
                    }
                } else {
                    position = gap.upperBound
                }
                mustEnd = isOver()
            }
            if mustEnd || isOver() { break }
        }
        mark.upto = position
        try write(mark, of: device)
        return position >= end
    }
}
