public import LockstepModel

// What `lockstep refine` has computed.

extension StoreReader {
    /// Calls `each` for every valid row of a device, in order of time. A store without refined data has no rows.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - newestOnly: whether to read only the newest row of the range.
    ///   - each: receives the time and the values in the order of the columns of ``RefinedKind/stream``. NaN stands for
    ///     null. An error that it throws ends the query.
    /// - Throws: ``StoreError``, or the error of `each`.
    public func refined(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?, newestOnly: Bool,
        each: (Timestamp, [Double]) throws -> Void
    ) throws {
        guard let id = try rowsID(of: device, kind) else { return }
        let columns = kind.definitions.indices.map { $0 + 1 }
        let names = kind.definitions.map(\.name).joined(separator: ", ")
        let maxRows = source.dialect.maxRows
        let limit = newestOnly ? "DESC LIMIT 1" : maxRows.map { "LIMIT \($0)" } ?? ""
        var times = timeRange(from, to)
        while true {
            var (count, last) = (0, times.lowerBound)
            var failure: (any Error)?
            try source.select(
                """
                SELECT t, \(names) FROM \(kind.view)
                WHERE device_id = \(id) AND t >= \(times.lowerBound) AND t < \(times.upperBound) ORDER BY t \(limit)
                """
            ) { row throws(StoreError) in
                (count, last) = (count + 1, row.int64(at: 0))
                do { try each(Timestamp(microseconds: last), columns.map { row.double(at: $0) }) } catch {
                    failure = error
                }
                return failure == nil
            }
            if let failure { throw failure }
            guard !newestOnly, count == maxRows, last + 1 < times.upperBound else { return }
            times = last + 1..<times.upperBound
        }
    }

    /// Returns the times of the oldest and newest valid row of a device, or nil if there is none.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func refinedRange(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> ClosedRange<Timestamp>? {
        guard let id = try rowsID(of: device, kind) else { return nil }
        let times = timeRange(from, to)
        let ranges = try source.rows(
            """
            SELECT min(t), max(t), count(*) FROM \(kind.view)
            WHERE device_id = \(id) AND t >= \(times.lowerBound) AND t < \(times.upperBound)
            """
        ) { row throws(StoreError) -> ClosedRange<Timestamp>? in
            guard row.int64(at: 2) > 0 else { return nil }
            return Timestamp(microseconds: row.int64(at: 0))...Timestamp(microseconds: row.int64(at: 1))
        }
        return ranges.first
    }

    /// Returns the id of a device, or nil if it has no refined data.
    private func rowsID(of device: DeviceAddress, _ kind: RefinedKind) throws(StoreError) -> Int64? {
        try reading { try driver.hasRows(of: kind) ? driver.id(of: device) : nil }
    }
}

/// Reads refined data of one kind as an export reads samples.
public final class RefinedExportReader: MergeReading {
    private let kind: RefinedKind
    private let reader: StoreReader

    /// Creates a reader.
    public init(_ kind: RefinedKind, in reader: StoreReader) {
        self.kind = kind
        self.reader = reader
    }

    public func timeRanges(
        of stream: SensorStream, devices: [DeviceAddress], from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] {
        var ranges: [DeviceAddress: ClosedRange<Timestamp>] = [:]
        for device in devices { ranges[device] = try reader.refinedRange(kind, of: device, from: from, to: to) }
        return ranges
    }

    /// Calls `each` for every row, in the order of devices, then time.
    public func merge(
        streams: [SensorStream], devices: [DeviceAddress], from: Timestamp?, to: Timestamp?,
        each: (SampleRow, Int) throws -> Void
    ) throws {
        for device in devices {
            try reader.refined(kind, of: device, from: from, to: to, newestOnly: false) { time, values in
                try each(SampleRow(device: device, time: time, values: values), 0)
            }
        }
    }
}
