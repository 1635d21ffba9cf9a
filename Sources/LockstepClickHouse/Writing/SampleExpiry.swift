import LockstepModel
import LockstepStore

/// Deletes samples by the rules of retention: in whole partitions where it can, which takes milliseconds in every version of
/// ClickHouse, and otherwise by a mutation, for which the server writes the other rows of the partition again.
///
/// Summaries of minutes that are kept are valid without samples, because nothing is stored in their minutes any more. Those that
/// are missing are made before the samples leave.
struct SampleExpiry {
    private enum Piece {
        case statement(String)
        /// Minutes of a device that have no valid summary.
        case summaries(SensorStream, device: Int64, minutes: [Int64])
    }

    /// The time between two searches.
    private static let interval = Duration.seconds(3600)
    /// The greatest number of devices in a condition: the server limits the size of a statement.
    private static let maxDevices = 5000
    /// The greatest number of minutes of a piece, and the time in which they are.
    private static let maxMinutes = 100
    private static let maxSpan: Int64 = 86_400_000_000

    let client: ClickHouseClient
    let retention: Retention
    /// Whether rules for all devices may delete those of all collectors, in whole partitions.
    private let areRulesForAll: Bool
    /// The time of the last search for expired samples, or nil if there was none.
    var lastSearch: ContinuousClock.Instant?
    /// The time before which the samples of each device have left, by stream.
    private(set) var limits: [String: [Int64: Int64]] = [:]
    /// What is still to be done.
    private var remaining: [Piece] = []
    /// The statements whose error was reported; an empty one stands for the search.
    private var reported: Set<String> = []
    private var refused: Set<String> = []

    /// Reads the limits of earlier runs.
    /// - Parameter isForAllDevices: whether the rules hold for the samples of all collectors.
    init(client: ClickHouseClient, retention: Retention, isForAllDevices: Bool) throws(StoreError) {
        self.client = client
        self.retention = retention
        areRulesForAll =
            isForAllDevices && retention.rules.areForAllDevices && retention.summaryRules.areForAllDevices
        for row in try client.rows("SELECT device_id, stream, from_t FROM expired") {
            guard let device = row[0].flatMap({ Int64($0) }), let stream = row[1],
                let time = row[2].flatMap({ Int64($0) })
            else { continue }
            limits[stream, default: [:]][device] = time
        }
    }

    /// Whether there is something to do, or a search is due.
    var isDue: Bool {
        guard !retention.rules.keepsEverything else { return false }
        guard remaining.isEmpty, let lastSearch else { return true }
        return ContinuousClock.now - lastSearch >= Self.interval
    }

    /// Searches for expired samples of all streams, or does one piece.
    ///
    /// A statement that the server refuses is skipped until the next search. Its error is reported once. If a summary cannot be made,
    /// the samples stay until then.
    /// - Parameter version: the version of new rows.
    mutating func performPiece(_ devices: [DeviceRecord], _ streams: [SensorStream], version: UInt64) {
        guard !remaining.isEmpty else {
            lastSearch = .now
            do { try search(devices, streams) } catch { report(error, of: "") }
            return
        }
        switch remaining.removeFirst() {
        case .statement(let statement):
            do { try client.execute(statement) } catch {
                report(error, of: statement)
                // Each attempt would block the store until the time limit of a request.
                if error.code == .unreachable { remaining = [] }
            }
        case .summaries(let stream, let device, let minutes):
            do { try summarise(stream, device, minutes, version) } catch {
                report(error, of: stream.minuteTable)
                remaining = []
            }
        }
    }

    private mutating func search(_ devices: [DeviceRecord], _ streams: [SensorStream]) throws(StoreError) {
        let server = try client.rows("SELECT toUnixTimestamp(now())").first?[0].flatMap { Int64($0) } ?? 0
        guard
            let now = KeepRules.now(
                collector: min(retention.wallTime(), server * 1_000_000), newest: devices.compactMap(\.lastSample))
        else { return }
        for stream in streams {
            var new: [Int64: Int64] = [:]
            // The times before which summaries leave.
            var summaries: [Int64: Int64] = [:]
            var isFar = false
            for device in devices {
                guard let age = retention.rules.age(of: stream.name, device.address) else { continue }
                let known = limits[stream.name]?[device.id]
                let limit = KeepRules.limit(ofAge: age, at: now)
                // A later limit is of an earlier, shorter rule, or of a store that was copied: this rule deletes nothing.
                if let known, known > limit { continue }
                if known.map({ limit - $0 > age / 2 }) ?? true { isFar = true }
                new[device.id] = limit
                summaries[device.id] = retention.summaryLimit(of: stream.name, device.address, at: now, samples: limit)
            }
            guard !new.isEmpty else { continue }
            try expire(stream, new, summaries, isFar: isFar)
        }
    }

    /// Returns the condition for rows before the limits of devices.
    private func condition(_ limits: [Int64: Int64]) -> String {
        var conditions: [String] = []
        if areRulesForAll {
            conditions = limits.values.min().map { ["t < \($0)"] } ?? []
        } else {
            for (limit, ids) in Dictionary(grouping: limits.keys, by: { limits[$0] ?? 0 }) {
                conditions += ids.sorted().chunks(of: Self.maxDevices).map { part in
                    "(device_id IN (\(part.map { "\($0)" }.joined(separator: ", "))) AND t < \(limit))"
                }
            }
        }
        return "t >= \(KeepRules.earliest) AND (\(conditions.sorted().joined(separator: " OR ")))"
    }

    /// Records what leaves, and adds the statements that delete it.
    private mutating func expire(
        _ stream: SensorStream, _ new: [Int64: Int64], _ summaries: [Int64: Int64], isFar: Bool
    ) throws(StoreError) {
        let condition = condition(new)
        let rows = try client.rows(
            "SELECT device_id, uniqExact(t) FROM \(stream.receivedTable) WHERE \(condition) GROUP BY device_id")
        var counts: [(device: Int64, samples: Int)] = []
        for row in rows {
            guard let device = row[0].flatMap({ Int64($0) }), let count = row[1].flatMap({ Int($0) }) else { continue }
            counts.append((device, count))
        }
        let samples = counts.reduce(0) { $0 + $1.samples }
        if samples > 0, isFar, !retention.isConfirmed {
            let all = try client.rows(
                "SELECT device_id, count() FROM \(stream.receivedTable) WHERE t >= \(KeepRules.earliest) GROUP BY device_id"
            )
            let others = all.reduce(-samples) { sum, row in
                guard areRulesForAll || row[0].flatMap({ Int64($0) }).flatMap({ new[$0] }) != nil else { return sum }
                return sum + (row[1].flatMap { Int($0) } ?? 0)
            }
            guard others >= samples else {
                guard refused.insert(stream.name).inserted else { return }
                retention.report?(.refused(.init(stream: stream.name, samples: samples, others: others)))
                return
            }
        }
        refused.remove(stream.name)
        for (device, limit) in new { limits[stream.name, default: [:]][device] = limit }
        for kind in RefinedKind.allCases where kind.standsFor == stream.name {
            // If the rows of `lockstep refine` cannot be read, the samples expire nevertheless.
            do {
                guard try client.rows("EXISTS TABLE \(kind.table)").first?[0] == "1",
                    try client.rows("SELECT count() FROM \(kind.table) WHERE \(condition)").first?[0] != "0"
                else { continue }
                remaining.append(.statement("ALTER TABLE \(kind.table) DELETE WHERE \(condition)"))
            } catch {
                // Each attempt would block the store until the time limit of a request.
                if error.code == .unreachable { throw error }
                report(error, of: kind.table)
            }
        }
        if samples > 0 {
            if summaries != new { try addMissingSummaries(of: stream, where: condition) }
            try record(stream, new, counts)
            try delete(from: stream.receivedTable, new)
            retention.report?(.expired(samples: samples, isForSpace: false))
        }
        let table = stream.minuteTable
        if !summaries.isEmpty,
            try client.rows("SELECT count() FROM \(table) WHERE \(self.condition(summaries))").first?[0] != "0"
        {
            try delete(from: table, summaries)
        }
    }

    /// Records that samples leave.
    private func record(
        _ stream: SensorStream, _ new: [Int64: Int64], _ counts: [(device: Int64, samples: Int)]
    ) throws(StoreError) {
        // First, so that nothing is stored that the statements do not delete. If they fail, the next search finds it again.
        var expired = RowBinary()
        for (device, count) in counts {
            expired.append(device)
            expired.append(stream.name)
            expired.append(new[device] ?? new.values.min() ?? 0)
            expired.append(Int64(count))
            expired.endRow()
        }
        try client.insert(
            expired.bytes, into: "received_expired", columns: ["device_id", "stream", "from_t", "samples"])
    }

    /// Adds the statements that delete the rows of a table before the limits of devices.
    private mutating func delete(from table: String, _ limits: [Int64: Int64]) throws(StoreError) {
        if areRulesForAll, let limit = limits.values.min() {
            remaining += try partitions(of: table, before: limit).map {
                .statement("ALTER TABLE \(table) DROP PARTITION \($0)")
            }
        }
        remaining.append(.statement("ALTER TABLE \(table) DELETE WHERE \(condition(limits))"))
    }

    /// Adds the minutes that have samples, but no valid summary.
    private mutating func addMissingSummaries(of stream: SensorStream, where condition: String) throws(StoreError) {
        let rows = try client.rows(
            """
            SELECT DISTINCT device_id, \(Minute.expression) AS _minute FROM \(stream.receivedTable)
            WHERE \(condition) AND (device_id, _minute) NOT IN (
                SELECT device_id, t FROM (\(stream.summaries([], by: "device_id, t", where: condition)))
                WHERE latest.1 = changes AND latest.2 > 0)
            ORDER BY device_id, _minute
            """)
        var (device, minutes): (Int64, [Int64]) = (0, [])
        func piece() -> [Piece] { minutes.isEmpty ? [] : [.summaries(stream, device: device, minutes: minutes)] }
        for row in rows {
            guard let id = row[0].flatMap({ Int64($0) }), let minute = row[1].flatMap({ Int64($0) }) else { continue }
            if id != device || minutes.count == Self.maxMinutes
                || minutes.first.map({ minute - $0 > Self.maxSpan }) ?? false
            {
                remaining += piece()
                (device, minutes) = (id, [])
            }
            minutes.append(minute)
        }
        remaining += piece()
    }

    private func summarise(
        _ stream: SensorStream, _ device: Int64, _ minutes: [Int64], _ version: UInt64
    ) throws(StoreError) {
        guard let first = minutes.first, let last = minutes.last else { return }
        let writer = MinuteWriter(client: client, stream: stream)
        let rows = try writer.summaries(
            where: """
                device_id = \(device) AND t >= \(first) AND t < \(last + Minute.length)
                AND \(Minute.expression) IN (\(minutes.map { "\($0)" }.joined(separator: ", ")))
                """)
        try writer.insert(rows, version: version)
    }

    /// Returns the partitions of a table in which every sample is before a time, the oldest first.
    private func partitions(of table: String, before time: Int64) throws(StoreError) -> [Int64] {
        let rows = try client.rows(
            """
            SELECT DISTINCT partition FROM system.parts
            WHERE active AND database = currentDatabase() AND table = '\(table)'
            """)
        return rows.compactMap { $0[0].flatMap { Int64($0) } }.filter { SamplePartition.isExpired($0, at: time) }
            .sorted()
    }

    private mutating func report(_ error: StoreError, of statement: String) {
        guard reported.insert(statement).inserted else { return }
        retention.report?(.failed("\(error)"))
    }
}

/// A partition of a table of samples.
enum SamplePartition {
    /// The time span of a partition: a twelfth of a mean year, in µs.
    static let length: Int64 = 2_629_746_000_000
    /// The partition of all samples before 2020, so that devices whose clock is wrong do not create hundreds of partitions.
    static let first: Int64 = 600
    /// The SQL expression of the number of the partition of `t`.
    static let expression = "greatest(intDiv(t, \(length)), \(first))"

    /// Returns whether all samples of a partition are before a time in µs since 1970, and may be deleted.
    ///
    /// The partition of samples before 2020 is kept: devices whose clock was not set have newer samples there.
    static func isExpired(_ partition: Int64, at time: Int64) -> Bool {
        partition > first && partition < time / length
    }
}
