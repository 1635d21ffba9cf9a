public import LockstepModel
import LockstepSQLite

/// A row of a query: a stored sample, or the aggregates of a time span.
public struct SampleRow: Sendable {
    /// The address of the device.
    public let device: DeviceAddress
    /// The time of the sample, or the start of the time span.
    public let time: Timestamp
    /// The values in the order of ``QueryDetail/columns(of:)``. NaN stands for null.
    public let values: [Double]

    /// Creates a row.
    public init(device: DeviceAddress, time: Timestamp, values: [Double]) {
        self.device = device
        self.time = time
        self.values = values
    }
}

extension StoreReader {
    /// Calls `each` for every row of a query, ordered by group, device and time. Memory use does not grow with the result.
    /// - Parameters:
    ///   - stream: the stream to read.
    ///   - detail: the kind of rows: samples, the newest sample only, or aggregates.
    ///   - group: the group to read, or nil for all groups.
    ///   - devices: the ids of the devices to read, or an empty array for all devices.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number of rows over all devices, or nil for no limit.
    ///   - each: receives the rows. An error that it throws ends the query.
    /// - Throws: ``StoreError``, or the error of `each`.
    public func query(
        stream: SensorStream, detail: QueryDetail = .samples, group: GroupID? = nil, devices: [DeviceID] = [],
        from: Timestamp? = nil, to: Timestamp? = nil, limit: Int? = nil, each: (SampleRow) throws -> Void
    ) throws {
        let times = (from?.microseconds ?? .min)..<max(from?.microseconds ?? .min, to?.microseconds ?? .max)
        guard let cursor = try convertingErrors({ try detail.cursor(of: stream, times, in: self) }) else { return }
        let devices = try selectedDevices(group, devices)
        var remainingRows = limit ?? .max
        if detail == .last { return try newest(of: devices, cursor, limit: remainingRows, each: each) }
        for device in devices where remainingRows > 0 {
            try convertingErrors { try cursor.start(device: device.id) }
            while remainingRows > 0, let row = try convertingErrors({ try cursor.next() }) {
                remainingRows -= 1
                try each(SampleRow(device: device.address, time: row.time, values: row.values))
            }
        }
    }

    /// Reads the newest row of each device, for up to 1,000 devices per transaction: a transaction per device would
    /// take longer than reading the row. The transaction ends before `each` is called, because `each` may take long.
    private func newest(
        of devices: [NumberedDevice], _ cursor: any QueryCursor, limit: Int, each: (SampleRow) throws -> Void
    ) throws {
        var remainingRows = limit
        var remainingDevices = devices[...]
        while remainingRows > 0, !remainingDevices.isEmpty {
            let count = min(remainingRows, 1000)
            let rows = try reading {
                defer { cursor.reset() }
                return try remainingDevices.prefix(count).compactMap { device in
                    try cursor.start(device: device.id)
                    return try cursor.next().map {
                        SampleRow(device: device.address, time: $0.time, values: $0.values)
                    }
                }
            }
            try rows.forEach(each)
            remainingRows -= rows.count
            remainingDevices = remainingDevices.dropFirst(count)
        }
    }

    /// Returns the devices of a query, ordered by group and device.
    private func selectedDevices(_ group: GroupID?, _ devices: [DeviceID]) throws(StoreError) -> [NumberedDevice] {
        try reading { try numberedDevices(group: group, names: devices) }
    }

    /// Runs `body` and converts its errors to ``StoreError``. Unlike ``reading(_:)``, it does not use a transaction:
    /// during a long query, a transaction would prevent checkpoints and let the write-ahead log grow.
    private func convertingErrors<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
        do { return try body() } catch { throw StoreError(error, path: path) }
    }
}
