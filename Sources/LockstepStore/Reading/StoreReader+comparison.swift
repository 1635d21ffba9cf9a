public import LockstepModel
import LockstepSQLite

/// How samples from elsewhere compare with what is stored.
public struct BlockComparison: Hashable, Sendable {
    /// Samples that are stored with the same values.
    public internal(set) var present = 0
    /// Times of samples that are not stored, in µs since 1970.
    public internal(set) var missing: [Int64] = []
    /// Times of samples that are stored with other values, in µs since 1970.
    public internal(set) var different: [Int64] = []
}

extension StoreReader {
    /// Looks every sample of `block` up.
    /// - Throws: ``StoreError``
    public func compare(_ block: SampleBlock, of device: DeviceAddress) throws(StoreError) -> BlockComparison {
        try reading {
            guard let id = try number(of: device), let lookup = try lookup(of: block.stream) else {
                return BlockComparison(missing: block.times)
            }
            var comparison = BlockComparison()
            for index in block.times.indices {
                switch try lookup.find(index, of: block, device: id) {
                case .absent: comparison.missing.append(block.times[index])
                case .same: comparison.present += 1
                case .different: comparison.different.append(block.times[index])
                }
            }
            return comparison
        }
    }

    private func number(of device: DeviceAddress) throws(SQLiteError) -> Int64? {
        let select = try database.prepare("SELECT device_id FROM devices WHERE group_name = ? AND device = ?")
        try select.bind(device.group.rawValue, at: 1)
        try select.bind(device.device.rawValue, at: 2)
        return try select.step() ? select.int64(at: 0) : nil
    }

    /// Kept, because a journal has thousands of blocks; nil if the store has no table of the stream yet.
    private func lookup(of stream: SensorStream) throws(SQLiteError) -> SampleLookup? {
        if let known = lookups[stream] { return known }
        let lookup = try SampleLookup(stream, in: database)
        lookups[stream] = lookup
        return lookup
    }
}
