public import LockstepModel
import LockstepSQLite

/// The result of comparing a block of samples with the store.
public struct BlockComparison: Hashable, Sendable {
    /// The number of samples that are stored with equal values.
    public package(set) var present: Int
    /// The times of samples that are not stored, in µs since 1970.
    public package(set) var missing: [Int64]
    /// The times of samples that are stored with different values, in µs since 1970.
    public package(set) var different: [Int64]

    /// The number of samples that are not stored because a person has deleted them.
    public package(set) var deleted = 0

    package init(present: Int = 0, missing: [Int64] = [], different: [Int64] = []) {
        self.present = present
        self.missing = missing
        self.different = different
    }

    /// Counts missing samples as deleted if they are of these times.
    package mutating func subtract(_ times: [Range<Int64>]) {
        let count = missing.count
        missing.removeAll { time in times.contains { $0.contains(time) } }
        deleted += count - missing.count
    }
}

extension StoreReader {
    /// Compares every sample of `block` with the stored samples of `device`.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func compare(_ block: SampleBlock, of device: DeviceAddress) throws(StoreError) -> BlockComparison {
        try reading {
            guard let id = try id(of: device) else { return BlockComparison(missing: block.times) }
            var comparison = BlockComparison()
            guard let lookup = try lookup(of: block.stream) else {
                comparison.missing = block.times
                comparison.subtract(try deletedTimes(of: block.stream, device))
                return comparison
            }
            let recent = try recentRows(of: block.stream, device: id)
            for index in block.times.indices {
                switch try lookup.find(index, of: block, device: id) {
                case .absent:
                    guard let values = recent[block.times[index]] else {
                        comparison.missing.append(block.times[index])
                        continue
                    }
                    if block.stream.isEqual(index, of: block, to: values) {
                        comparison.present += 1
                    } else {
                        comparison.different.append(block.times[index])
                    }
                case .same: comparison.present += 1
                case .different: comparison.different.append(block.times[index])
                }
            }
            if !comparison.missing.isEmpty {
                comparison.subtract(try deletedTimes(of: block.stream, device))
            }
            return comparison
        }
    }

    /// Returns the id of `device` in the store, or nil if the store does not contain it.
    func id(of device: DeviceAddress) throws(SQLiteError) -> Int64? {
        if let id = ids[device] { return id }
        let select = try database.prepare("SELECT device_id FROM _devices WHERE group_name = ? AND device = ?")
        try select.bind(device.group.rawValue, at: 1)
        try select.bind(device.device.rawValue, at: 2)
        guard try select.step() else { return nil }
        ids[device] = select.int64(at: 0)
        return ids[device]
    }

    /// Returns the waiting samples of a device, by their times in µs since 1970.
    ///
    /// They are cached until the store changes, because a caller compares all blocks of a device one after another.
    private func recentRows(of stream: SensorStream, device: Int64) throws(SQLiteError) -> [Int64: [Double]] {
        let version = try database.integer("PRAGMA data_version")
        if let known = recent, known.stream == stream, known.device == device, known.version == version {
            return known.rows
        }
        var rows: [Int64: [Double]] = [:]
        for row in try waiting.stream(stream)?.rows(of: device, Int64.min..<Int64.max) ?? [] {
            rows[row.time] = row.values
        }
        recent = RecentRows(stream: stream, device: device, version: version, rows: rows)
        return rows
    }

    /// Returns the cached lookup of a stream, or nil if the store has no table for the stream yet. It is cached because
    /// a caller may compare thousands of blocks.
    private func lookup(of stream: SensorStream) throws(SQLiteError) -> SampleLookup? {
        if let known = lookups[stream] { return known }
        let lookup = try SampleLookup(stream, in: database)
        lookups[stream] = lookup
        return lookup
    }
}

/// The samples of one stream of a device that wait.
struct RecentRows {
    let stream: SensorStream
    let device: Int64
    /// SQLite's number of the store's state.
    let version: Int64
    /// The values, by times in µs since 1970.
    let rows: [Int64: [Double]]
}
