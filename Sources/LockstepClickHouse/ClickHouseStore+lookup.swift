import LockstepModel
import LockstepStore

// Reading what the transaction has to be compared with.

extension ClickHouseStore {
    /// The maximum number of devices, or of time ranges, in one query.
    private static let queryLimit = 500
    /// The longest time between two samples of one range that is looked up, in µs.
    private static let maxDistance: Int64 = 10_000_000

    /// Reads the batch numbers and the newest times of the group's devices that are needed for the first time.
    func load(_ group: IngestGroup) throws(StoreError) {
        var devices: Set<Int> = []
        for address in group.runs.map(\.device) + group.dropped.map(\.device) + group.reports.keys.map(\.device) {
            if let index = deviceIndexes[address], !loadedNumbers.contains(index) { devices.insert(index) }
        }
        try loadNumbers(of: devices.sorted())
        let oldest = group.runs.compactMap { $0.samples.times.min() }.min() ?? .max
        var missing: [Int: Set<Int>] = [:]
        for run in group.runs {
            guard let device = deviceIndexes[run.device] else { continue }
            let stream = try index(of: run.samples.stream)
            let key = SeriesKey(device: device, stream: stream)
            // An earlier group of the transaction may have had newer samples only.
            if newest[key] == nil || noSamplesSince[key].map({ oldest < $0 }) ?? false {
                missing[stream, default: []].insert(device)
            }
        }
        for (stream, devices) in missing {
            try loadNewest(of: devices.sorted(), stream: stream, since: oldest)
        }
    }

    func loadNumbers(of indexes: [Int]) throws(StoreError) {
        for part in indexes.chunks(of: Self.queryLimit) {
            let ids = part.map { "\(devices[$0].id)" }.joined(separator: ", ")
            for (id, epochs) in try BatchNumbers.read(client, where: "device_id IN (\(ids))") {
                guard let device = addresses[id] else { continue }
                for (epoch, stored) in epochs { numbers[scope(of: device, epoch)] = stored }
            }
            loadedNumbers.formUnion(part)
        }
    }

    private func loadNewest(of indexes: [Int], stream: Int, since oldest: Int64) throws(StoreError) {
        let table = streams[stream].receivedTable
        for part in indexes.chunks(of: Self.queryLimit) {
            let ids = part.map { "\(devices[$0].id)" }.joined(separator: ", ")
            // Samples before the oldest one of the group do not matter: they can only collide with samples of later groups
            // that are older too, and then the newest one is looked up again.
            let times = try client.binary(
                "SELECT device_id, max(t) FROM \(table) WHERE device_id IN (\(ids)) AND t >= \(oldest) GROUP BY device_id"
            ) { reader in (device: try reader.integer(), time: try reader.integer()) }
            for index in part {
                newest[SeriesKey(device: index, stream: stream)] = .some(nil)
                noSamplesSince[SeriesKey(device: index, stream: stream)] = oldest
            }
            for (device, time) in times {
                guard let index = addresses[device].flatMap({ deviceIndexes[$0] }) else { continue }
                newest[SeriesKey(device: index, stream: stream)] = time
                noSamplesSince[SeriesKey(device: index, stream: stream)] = nil
            }
        }
    }

    /// Returns the hashes of stored rows, by time, with which samples of the group may collide: those that are not newer
    /// than all stored samples of their device and stream.
    func storedHashes(of group: IngestGroup) throws(StoreError) -> [SeriesKey: [Int64: [UInt64]]] {
        var late: [SeriesKey: [Int64]] = [:]
        for run in group.runs {
            guard let device = deviceIndexes[run.device] else { continue }
            let key = SeriesKey(device: device, stream: try index(of: run.samples.stream))
            guard let newest = newest[key] ?? nil else { continue }
            late[key, default: []] += run.samples.times.filter { $0 <= newest }
        }
        return try storedHashes(at: late)
    }

    /// Returns the hashes of stored rows with times in the ranges of `times`, by time.
    func storedHashes(at times: [SeriesKey: [Int64]]) throws(StoreError) -> [SeriesKey: [Int64: [UInt64]]] {
        let ranges = times.flatMap { key, times in Self.ranges(of: times).map { (key: key, range: $0) } }
        var result: [SeriesKey: [Int64: [UInt64]]] = [:]
        for (stream, ranges) in Dictionary(grouping: ranges, by: { $0.key.stream }) {
            for part in ranges.chunks(of: Self.queryLimit) {
                let conditions = part.map { key, range in
                    "(device_id = \(devices[key.device].id) AND t >= \(range.lowerBound) AND t <= \(range.upperBound))"
                }
                let rows = try client.binary(
                    "SELECT device_id, t, _values_hash FROM \(streams[stream].receivedTable) WHERE "
                        + conditions.joined(separator: " OR ")
                ) { reader in (device: try reader.integer(), time: try reader.integer(), hash: try reader.unsigned()) }
                for (id, time, hash) in rows {
                    guard let device = addresses[id].flatMap({ deviceIndexes[$0] }) else { continue }
                    result[SeriesKey(device: device, stream: stream), default: [:]][time, default: []].append(hash)
                }
            }
        }
        return result
    }

    /// Returns ranges that contain all `times`. Times that are far apart are in different ranges, so that a sample with a
    /// wrong time does not make the store read the history in between.
    static func ranges(of times: [Int64]) -> [ClosedRange<Int64>] {
        var ranges: [ClosedRange<Int64>] = []
        for time in times.sorted() {
            // Times are sorted, so that only a distance that overflows is negative.
            if let last = ranges.last, (0...maxDistance).contains(time &- last.upperBound) {
                ranges[ranges.count - 1] = last.lowerBound...time
            } else {
                ranges.append(time...time)
            }
        }
        return ranges
    }
}
