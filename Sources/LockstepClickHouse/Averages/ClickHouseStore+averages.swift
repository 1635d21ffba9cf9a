import LockstepModel
import LockstepStore

// Summaries of minutes, see Minute.

extension ClickHouseStore {
    /// The longest time that a transaction may take until its samples are stored. In a cluster, the next owner of a device
    /// summarises a minute ``Options/averageDelay`` after the takeover or later, so that it finds what was stored in this
    /// time. After it, an earlier owner marks all minutes as changed.
    private static let maxTransaction = Duration.seconds(20)

    /// Records the minutes of a run that the transaction changes.
    func recordMinutes(of run: SampleRun, _ key: SeriesKey) {
        if transaction.began == nil { transaction.began = .now }
        var minutes = transaction.minutes.removeValue(forKey: key) ?? [:]
        var (start, end, count) = (Int64(0), Int64(0), 0)
        for time in run.samples.times {
            if time < start || time >= end {
                if count > 0 { minutes[start, default: 0] += count }
                start = Minute.start(of: time)
                end = start.addingReportingOverflow(Minute.length).overflow ? .max : start + Minute.length
                count = 0
            }
            count += 1
        }
        if count > 0 { minutes[start, default: 0] += count }
        transaction.minutes[key] = minutes
    }

    /// Marks the minutes as changed that may have a summary. Call it when the samples are stored, and before they count as
    /// received. Samples that were stored before are included: an earlier run may not have marked them.
    ///
    /// A minute is only summarised when a sample of a later one is stored. A minute whose summary is invalid already, and
    /// that no other owner can summarise, needs no further mark.
    func insertChanges(of transaction: Transaction) throws(StoreError) {
        let isSlow = token != nil && transaction.began.map { .now - $0 > Self.maxTransaction } ?? false
        let change = UInt64.random(in: 1 ... .max)
        var changes: [Int: RowBinary] = [:]
        var marked: [AverageSchedule.Key] = []
        for (key, minutes) in transaction.minutes {
            let newest = (newest[key] ?? nil).map(Minute.start) ?? .min
            for minute in minutes.keys where isSlow || minute < newest {
                let entry = AverageSchedule.Key(series: key, minute: minute)
                guard isSlow || !averages.isMarked(entry) else { continue }
                changes[key.stream, default: RowBinary()].appendChange(change, of: devices[key.device].id, minute)
                // The newest minute is not summarised, because its later samples are not marked.
                if minute < newest { marked.append(entry) }
            }
        }
        try client.insert(
            changes.sorted { $0.key < $1.key }.map { stream, rows in
                TableInsert(rows.bytes, into: streams[stream].minuteTable, columns: Minute.changeColumns)
            })
        let now = ContinuousClock.now
        for minute in marked { averages.mark(minute, at: now) }
    }

    /// Lets the minutes of a committed transaction be summarised later.
    func scheduleAverages(of transaction: Transaction) {
        let now = ContinuousClock.now
        for (series, minutes) in transaction.minutes {
            guard let newest = newest[series] ?? nil else { continue }
            // The newest minute comes last: the one before it is complete then.
            for (minute, rows) in minutes.sorted(by: { $0.key < $1.key }) {
                averages.record(.init(series: series, minute: minute), rows: rows, newest: newest, at: now)
            }
        }
    }

    /// Summarises some minutes.
    func performAverages() {
        let now = ContinuousClock.now
        let piece = averages.next(at: now)
        guard let stream = piece.first?.key.series.stream else { return }
        do { try summarise(AverageSchedule.ranges(of: piece.map(\.key)), streams[stream]) } catch {
            // Until it succeeds, the samples are read instead of the summaries.
            if !averages.hasFailed {
                options.reportMaintenanceProblem?("cannot summarise minutes for averages", "\(error)")
            }
            return averages.postpone(piece, at: .now)
        }
        averages.finish(after: .now - now, at: .now)
    }

    private func summarise(
        _ ranges: [(series: SeriesKey, times: Range<Int64>)], _ stream: SensorStream
    ) throws(StoreError) {
        guard !ranges.isEmpty else { return }
        let condition = ranges.map { series, times in
            "(device_id = \(devices[series.device].id) AND t >= \(times.lowerBound) AND t < \(times.upperBound))"
        }.joined(separator: " OR ")
        let writer = MinuteWriter(client: client, stream: stream)
        let summaries = try writer.summaries(where: condition)
        // A later owner may have marked these minutes once, and have stored samples that were not read here.
        try checkOwnership(of: Set(ranges.map { devices[$0.series.device].id }))
        try writer.insert(summaries, version: nextVersion())
    }
}

/// Summarises minutes.
struct MinuteWriter {
    /// A minute of a device.
    private struct Key: Hashable {
        let device: Int64
        let minute: Int64
    }

    /// The summary of a minute.
    struct Row {
        let device: Int64
        let minute: Int64
        let changes: UInt64
        let samples: Int64
        let values: [Double]
    }

    let client: ClickHouseClient
    let stream: SensorStream

    /// Returns the summaries of the minutes with rows that meet a condition, which must comprise whole minutes.
    func summaries(where condition: String) throws(StoreError) -> [Row] {
        let changes = Dictionary(
            try client.binary(
                """
                SELECT device_id, t, \(Minute.changes) FROM \(stream.minuteTable)
                WHERE (\(condition)) AND _change != 0 GROUP BY device_id, t
                """
            ) { reader in
                (Key(device: try reader.integer(), minute: try reader.integer()), try reader.unsigned())
            }
        ) { first, _ in first }
        // The replica must have the samples of these changes.
        client.requireEverything()
        let columns = stream.summaryColumns
        let names = (["device_id", "t"] + stream.columns.map(\.name)).joined(separator: ", ")
        let values = ([Minute.expression + " AS _minute", "toInt64(count())"] + columns.map(\.expression))
            .joined(separator: ", ")
        return try client.binary(
            """
            SELECT device_id, \(values) FROM (
                SELECT \(names) FROM \(stream.receivedTable) WHERE \(condition)
                ORDER BY device_id, t, _rank DESC, _values_hash LIMIT 1 BY device_id, t
            ) GROUP BY device_id, _minute
            """
        ) { reader in
            let (device, minute, samples) = (try reader.integer(), try reader.integer(), try reader.integer())
            return Row(
                device: device, minute: minute, changes: changes[Key(device: device, minute: minute)] ?? 0,
                samples: samples, values: try columns.map { _ in try reader.isNull() ? .nan : try reader.double() })
        }
    }

    /// Inserts summaries.
    func insert(_ summaries: [Row], version: UInt64) throws(StoreError) {
        guard !summaries.isEmpty else { return }
        var rows = RowBinary()
        for row in summaries {
            rows.append(row.device)
            rows.append(row.minute)
            rows.append(UInt64(0))
            rows.append(row.changes)
            rows.append(version)
            rows.append(row.samples)
            for value in row.values { rows.append(value.isNaN ? nil : value) }
            rows.endRow()
        }
        try client.insert(rows.bytes, into: stream.minuteTable, columns: stream.minuteColumns)
    }
}

extension Minute {
    /// The columns of a change in the order in which they are inserted.
    static let changeColumns = ["device_id", "t", "_change"]
}

extension RowBinary {
    /// Appends the row that marks a minute as changed.
    mutating func appendChange(_ change: UInt64, of device: Int64, _ minute: Int64) {
        append(device)
        append(minute)
        append(change)
        endRow()
    }
}
