import LockstepModel
import LockstepStore

/// Deletes samples by the rules of retention: in whole partitions where it can, which takes milliseconds in every version of
/// ClickHouse, and otherwise by a mutation, for which the server writes the other rows of the partition again.
struct SampleExpiry {
    /// The time between two searches.
    private static let interval = Duration.seconds(3600)
    /// The greatest number of devices in a condition: the server limits the size of a statement.
    private static let maxDevices = 5000

    let client: ClickHouseClient
    let retention: Retention
    /// Whether rules for all devices may delete those of all collectors, in whole partitions.
    private let areRulesForAll: Bool
    /// The time of the last search for expired samples, or nil if there was none.
    var lastSearch: ContinuousClock.Instant?
    /// The time before which the samples of each device have left, by stream.
    private(set) var limits: [String: [Int64: Int64]] = [:]
    /// The statements that are still to be executed.
    private var remaining: [String] = []
    /// The statements whose error was reported; an empty one stands for the search.
    private var reported: Set<String> = []
    private var refused: Set<String> = []

    /// Reads the limits of earlier runs.
    /// - Parameter isForAllDevices: whether the rules hold for the samples of all collectors.
    init(client: ClickHouseClient, retention: Retention, isForAllDevices: Bool) throws(StoreError) {
        self.client = client
        self.retention = retention
        areRulesForAll = isForAllDevices && retention.rules.areForAllDevices
        for row in try client.rows("SELECT device_id, stream, from_t FROM expired") {
            guard let device = row[0].flatMap({ Int64($0) }), let stream = row[1],
                let time = row[2].flatMap({ Int64($0) })
            else { continue }
            limits[stream, default: [:]][device] = time
        }
    }

    /// Whether there is a statement to execute, or a search is due.
    var isDue: Bool {
        guard !retention.rules.keepsEverything else { return false }
        guard remaining.isEmpty, let lastSearch else { return true }
        return ContinuousClock.now - lastSearch >= Self.interval
    }

    /// Searches for expired samples of all streams, or executes one statement.
    ///
    /// A statement that the server refuses is skipped until the next search. Its error is reported once.
    mutating func performPiece(_ devices: [DeviceRecord], _ streams: [SensorStream]) {
        guard !remaining.isEmpty else {
            lastSearch = .now
            do { try search(devices, streams) } catch { report(error, of: "") }
            return
        }
        let statement = remaining.removeFirst()
        do { try client.execute(statement) } catch {
            report(error, of: statement)
            // Each attempt would block the store until the time limit of a request.
            if error.code == .unreachable { remaining = [] }
        }
    }

    private mutating func search(_ devices: [DeviceRecord], _ streams: [SensorStream]) throws(StoreError) {
        let server = try client.rows("SELECT toUnixTimestamp(now())").first?[0].flatMap { Int64($0) } ?? 0
        guard
            let now = KeepRules.now(
                collector: min(retention.wallTime(), server * 1_000_000), newest: devices.compactMap(\.lastSample))
        else { return }
        for stream in streams {
            var conditions: [String] = []
            var new: [Int64: Int64] = [:]
            var isFar = false
            for device in devices {
                guard let age = retention.rules.age(of: stream.name, device.address) else { continue }
                let known = limits[stream.name]?[device.id]
                let limit = KeepRules.limit(ofAge: age, at: now)
                // A later limit is of an earlier, shorter rule, or of a store that was copied: this rule deletes nothing.
                if let known, known > limit { continue }
                if known.map({ limit - $0 > age / 2 }) ?? true { isFar = true }
                new[device.id] = limit
            }
            guard !new.isEmpty else { continue }
            if areRulesForAll {
                conditions = new.values.min().map { ["t < \($0)"] } ?? []
            } else {
                for (limit, ids) in Dictionary(grouping: new.keys, by: { new[$0] ?? 0 }) {
                    conditions += ids.sorted().chunks(of: Self.maxDevices).map { part in
                        "(device_id IN (\(part.map { "\($0)" }.joined(separator: ", "))) AND t < \(limit))"
                    }
                }
            }
            let condition = "t >= \(KeepRules.earliest) AND (\(conditions.sorted().joined(separator: " OR ")))"
            try expire(stream, new, condition, isFar: isFar)
        }
    }

    /// Records what leaves, and adds the statements that delete it.
    private mutating func expire(
        _ stream: SensorStream, _ new: [Int64: Int64], _ condition: String, isFar: Bool
    ) throws(StoreError) {
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
                remaining.append("ALTER TABLE \(kind.table) DELETE WHERE \(condition)")
            } catch {
                // Each attempt would block the store until the time limit of a request.
                if error.code == .unreachable { throw error }
                report(error, of: kind.table)
            }
        }
        guard samples > 0 else { return }
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
        for table in [stream.receivedTable, stream.minuteTable] {
            if areRulesForAll, let limit = new.values.min() {
                remaining += try partitions(of: table, before: limit).map {
                    "ALTER TABLE \(table) DROP PARTITION \($0)"
                }
            }
            remaining.append("ALTER TABLE \(table) DELETE WHERE \(condition)")
        }
        retention.report?(.expired(samples: samples, isForSpace: false))
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
