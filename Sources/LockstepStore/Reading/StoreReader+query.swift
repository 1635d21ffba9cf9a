public import LockstepModel
import LockstepSQLite

/// One stored sample.
public struct SampleRow: Sendable {
    public let device: DeviceAddress
    public let time: Timestamp
    /// In the order of the stream's columns; not a number stands for null.
    public let values: [Double]
}

extension StoreReader {
    /// Gives stored samples one by one: by group and device, and by time within a device. Memory stays flat.
    /// - Parameters:
    ///   - group: only of this group; of all where nil.
    ///   - devices: only of these; of all where empty.
    ///   - from: the first time that counts.
    ///   - to: the first time that counts no more.
    ///   - limit: the most samples, over all devices.
    /// - Throws: ``StoreError``, or what `each` throws, which ends the query.
    public func query(
        stream: SensorStream, group: GroupID? = nil, devices: [DeviceID] = [], from: Timestamp? = nil,
        to: Timestamp? = nil, limit: Int? = nil, each: (SampleRow) throws -> Void
    ) throws {
        var left = limit ?? .max
        for device in try chosen(group, devices) where left > 0 {
            guard let select = try statement(stream, device.id, from, to, limit: left) else { return }
            while try next(select) {
                left -= 1
                let values = stream.columns.indices.map { stream.columns[$0].kind.read(select, at: $0 + 1) }
                let time = Timestamp(microseconds: select.int64(at: 0))
                try each(SampleRow(device: device.address, time: time, values: values))
            }
        }
    }

    private func chosen(
        _ group: GroupID?, _ devices: [DeviceID]
    ) throws(StoreError) -> [(address: DeviceAddress, id: Int64)] {
        let wanted = Set(devices)
        return try reading { try numberedDevices() }.filter { device in
            (group == nil || device.address.group == group)
                && (wanted.isEmpty || wanted.contains(device.address.device))
        }
    }

    /// The SELECT of one device's samples; nil if the store has no table of the stream yet.
    private func statement(
        _ stream: SensorStream, _ device: Int64, _ from: Timestamp?, _ to: Timestamp?, limit: Int
    ) throws(StoreError) -> SQLiteStatement? {
        do {
            guard let columns = try StoreSchema.selectList(of: stream, in: database) else { return nil }
            let select = try database.prepare(
                """
                SELECT t, \(columns) FROM \(stream.table)
                WHERE device_id = ? AND t >= ? AND t < ? ORDER BY t LIMIT ?
                """)
            try select.bind(device, at: 1)
            try select.bind(from?.microseconds ?? .min, at: 2)
            try select.bind(to?.microseconds ?? .max, at: 3)
            try select.bind(Int64(limit), at: 4)
            return select
        } catch {
            throw StoreError(error, path: path)
        }
    }

    private func next(_ select: SQLiteStatement) throws(StoreError) -> Bool {
        do { return try select.step() } catch { throw StoreError(error, path: path) }
    }
}
