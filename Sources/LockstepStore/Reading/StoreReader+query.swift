public import LockstepModel
import LockstepSQLite

/// One stored sample, or the averages of several.
public struct SampleRow: Sendable {
    public let device: DeviceAddress
    /// Of the sample, or at which the span of the averages starts.
    public let time: Timestamp
    /// In the order of the columns of the query's ``QueryDetail``; not a number stands for null.
    public let values: [Double]
}

extension StoreReader {
    /// Gives stored samples one by one: by group and device, and by time within a device. Memory stays flat.
    /// - Parameters:
    ///   - detail: which rows: samples, the newest alone, or averages; their values are in the order of its columns.
    ///   - group: only of this group; of all where nil.
    ///   - devices: only of these; of all where empty.
    ///   - from: the first time that counts.
    ///   - to: the first time that counts no more.
    ///   - limit: the most rows, over all devices.
    /// - Throws: ``StoreError``, or what `each` throws, which ends the query.
    public func query(
        stream: SensorStream, detail: QueryDetail = .samples, group: GroupID? = nil, devices: [DeviceID] = [],
        from: Timestamp? = nil, to: Timestamp? = nil, limit: Int? = nil, each: (SampleRow) throws -> Void
    ) throws {
        let times = (from?.microseconds ?? .min)..<max(from?.microseconds ?? .min, to?.microseconds ?? .max)
        guard let cursor = try storeErrors({ try detail.cursor(of: stream, times, in: database) }) else { return }
        let devices = try chosen(group, devices)
        var left = limit ?? .max
        if detail == .last { return try newest(of: devices, cursor, limit: left, each: each) }
        for device in devices where left > 0 {
            try storeErrors { try cursor.start(device: device.id) }
            while left > 0, let row = try storeErrors({ try cursor.next() }) {
                left -= 1
                try each(SampleRow(device: device.address, time: row.time, values: row.values))
            }
        }
    }

    /// Many devices in one transaction, which for each would take longer than to read its row. It is over before `each`,
    /// which may take its time, sees the rows.
    private func newest(
        of devices: [NumberedDevice], _ cursor: any QueryCursor, limit: Int, each: (SampleRow) throws -> Void
    ) throws {
        var left = limit
        var remaining = devices[...]
        while left > 0, !remaining.isEmpty {
            let count = min(left, 1000)
            let rows = try reading {
                defer { cursor.reset() }
                return try remaining.prefix(count).compactMap { device in
                    try cursor.start(device: device.id)
                    return try cursor.next().map {
                        SampleRow(device: device.address, time: $0.time, values: $0.values)
                    }
                }
            }
            try rows.forEach(each)
            left -= rows.count
            remaining = remaining.dropFirst(count)
        }
    }

    private func chosen(_ group: GroupID?, _ devices: [DeviceID]) throws(StoreError) -> [NumberedDevice] {
        let wanted = Set(devices)
        return try reading { try numberedDevices() }.filter { device in
            (group == nil || device.address.group == group)
                && (wanted.isEmpty || wanted.contains(device.address.device))
        }
    }

    /// Unlike ``reading(_:)`` without a transaction: over all of a long query that would keep the writer's log growing.
    private func storeErrors<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
        do { return try body() } catch { throw StoreError(error, path: path) }
    }
}
