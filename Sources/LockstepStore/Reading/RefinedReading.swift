public import LockstepModel
import LockstepSQLite

/// Reads what `lockstep refine` has computed.
public protocol RefinedReading: AnyObject {
    /// Calls `each` for every valid row of a device, in order of time. A store without refined data has no rows.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - newestOnly: whether to read only the newest row of the range.
    ///   - each: receives the time and the values in the order of the columns of ``RefinedKind/stream``. NaN stands for
    ///     null. An error that it throws ends the query.
    func refined(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?, newestOnly: Bool,
        each: (Timestamp, [Double]) throws -> Void
    ) throws

    /// Returns the times of the oldest and newest valid row of a device in a time range, or nil if there is none.
    func refinedRange(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> ClosedRange<Timestamp>?
}

extension StoreReader: RefinedReading {
    public func refined(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?, newestOnly: Bool,
        each: (Timestamp, [Double]) throws -> Void
    ) throws {
        let names = kind.definitions.map(\.name).joined(separator: ", ")
        guard
            let select = try selectRefined(
                kind, "t, \(names)", "ORDER BY t\(newestOnly ? " DESC LIMIT 1" : "")", device, from, to)
        else { return }
        defer { select.reset() }
        while try step(select) {
            try each(
                Timestamp(microseconds: select.int64(at: 0)),
                kind.definitions.indices.map { select.double(at: $0 + 1) })
        }
    }

    public func refinedRange(
        _ kind: RefinedKind, of device: DeviceAddress, from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> ClosedRange<Timestamp>? {
        guard let select = try selectRefined(kind, "min(t), max(t)", "", device, from, to), try step(select),
            let first = select.optionalInt64(at: 0), let last = select.optionalInt64(at: 1)
        else { return nil }
        return Timestamp(microseconds: first)...Timestamp(microseconds: last)
    }

    private func step(_ select: SQLiteStatement) throws(StoreError) -> Bool {
        do { return try select.step() } catch { throw StoreError(error, path: path) }
    }

    private func selectRefined(
        _ kind: RefinedKind, _ columns: String, _ order: String, _ device: DeviceAddress, _ from: Timestamp?,
        _ to: Timestamp?
    ) throws(StoreError) -> SQLiteStatement? {
        do {
            guard
                try database.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND name = '\(kind.view)'")
                    == 1
            else { return nil }
            let select = try database.prepare(
                """
                SELECT \(columns) FROM \(kind.view)
                WHERE group_name = ?1 AND device = ?2 AND t >= ?3 AND t < ?4 \(order)
                """)
            try select.bind(device.group.rawValue, at: 1)
            try select.bind(device.device.rawValue, at: 2)
            try select.bind(from?.microseconds ?? .min, at: 3)
            try select.bind(to?.microseconds ?? .max, at: 4)
            return select
        } catch { throw StoreError(error, path: path) }
    }
}

/// Reads refined data of one kind as an export reads samples.
public final class RefinedExportReader: MergeReading {
    private let kind: RefinedKind
    private let reader: any RefinedReading

    /// Creates a reader.
    public init(_ kind: RefinedKind, in reader: any RefinedReading) {
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

    public func snapshot<Result>(_ body: () throws -> Result) throws -> Result { try body() }
}
