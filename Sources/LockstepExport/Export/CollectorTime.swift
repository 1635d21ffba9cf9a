public import LockstepModel
public import LockstepStore

/// Puts the rows of devices on the collector's time line, with the estimates of the devices' clocks in the store.
///
/// Columns that are times are converted as well. Within each stream of a device, times remain increasing. A device
/// without estimates keeps its own times, and its bound is unknown.
public struct CollectorTime: Sendable {
    /// The name of the column of the bounds: the largest possible error of the time of a row, in µs.
    public static let boundColumn = ExportColumn(name: "bound_us", kind: .integer)
    /// The time in µs by which a range is extended, besides the drift to the nearest estimate.
    private static let margin: Int64 = 1_000_000

    private struct Series: Hashable {
        let device: DeviceAddress
        let stream: Int
    }

    /// The start of the time range on the collector's clock (inclusive), or nil for no limit.
    private let from: Timestamp?
    /// The end of the time range on the collector's clock (exclusive), or nil for no limit.
    private let to: Timestamp?
    private var maps: [DeviceAddress: ClockMap] = [:]
    /// The time ranges on the devices' time lines that contain all rows of the range.
    private var ranges: [DeviceAddress: (from: Timestamp?, to: Timestamp?)] = [:]
    private var series: [Series: MonotonicClockMap] = [:]
    /// The devices without estimates, in order.
    public private(set) var unknownDevices: [DeviceAddress] = []

    /// Reads the estimates of devices.
    /// - Parameters:
    ///   - from: the start of the time range on the collector's clock (inclusive), or nil for no limit.
    ///   - to: the end of the time range on the collector's clock (exclusive), or nil for no limit.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public init(
        of devices: [DeviceAddress], from: Timestamp?, to: Timestamp?, in reader: any ClockEstimateReading
    ) throws(StoreError) {
        self.from = from
        self.to = to
        for device in devices.sorted() {
            // Not all estimates: there may be years of them.
            var points = Set(try reader.clockPoints(of: device, from: from, to: to, on: .collector))
            guard var map = ClockMap(Array(points)) else {
                unknownDevices.append(device)
                continue
            }
            var range = Self.deviceRange(map, from: from, to: to)
            // After a clock was set back, the device has had the same times earlier, with other offsets. These extend the
            // range, because the times of two segments are converted to the middle of both.
            while from != nil || to != nil {
                let count = points.count
                points.formUnion(try reader.clockPoints(of: device, from: range.from, to: range.to))
                guard points.count > count, let extended = ClockMap(Array(points)) else { break }
                map = extended
                range = Self.deviceRange(map, from: from, to: to)
            }
            ranges[device] = range
            maps[device] = map
        }
    }

    /// Returns the time range on the device's time line that contains all rows of the range.
    public func deviceRange(of device: DeviceAddress) -> (from: Timestamp?, to: Timestamp?) {
        ranges[device] ?? (from, to)
    }

    /// Returns the shortest time range on the device's time line that contains all rows of the range. Its first time is
    /// in the range.
    /// - Returns: nil if the device has no estimates, the range has no limits, or no time of the device is in it.
    public func exactDeviceRange(of device: DeviceAddress) -> Range<Timestamp>? {
        guard let map = maps[device], let from, let to, case (let start?, let end?) = deviceRange(of: device),
            start < end
        else { return nil }
        func time(_ time: Timestamp) -> Timestamp { map.convert(time).time }
        // Within each piece, conversions increase. Where the clock was set, they may decrease.
        let limits = [start] + map.turns.filter { start < $0 && $0 < end } + [end]
        let pieces = zip(limits, limits.dropFirst())
        let first = pieces.lazy.map { Self.first(from: $0, to: $1) { time($0) >= from } }
        let last = pieces.reversed().lazy.map { ($0, Self.first(from: $0, to: $1) { time($0) >= to }) }
        guard let lower = zip(pieces, first).first(where: { $1 < $0.1 })?.1,
            let upper = last.first(where: { $0 < $1 })?.1,
            lower < upper
        else { return nil }
        return lower..<upper
    }

    /// Returns the first time for which a condition is true, or `end` if there is none. It must remain true after that.
    private static func first(from start: Timestamp, to end: Timestamp, where isTrue: (Timestamp) -> Bool) -> Timestamp
    {
        var (lower, upper) = (start, end)
        while lower < upper {
            let middle = lower + (upper - lower) / 2
            if isTrue(middle) { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }

    private static func deviceRange(
        _ map: ClockMap, from: Timestamp?, to: Timestamp?
    ) -> (from: Timestamp?, to: Timestamp?) {
        let offsets = map.offsets
        let distance = map.distance(from: from, to: to)
        // No clock drifts by more than this.
        let margin = Self.margin + distance / 1000
        return (from.map { $0 + (offsets.lowerBound - margin) }, to.map { $0 + (offsets.upperBound + margin) })
    }

    /// Converts a single time of a device.
    public func time(_ time: Timestamp, of device: DeviceAddress) -> Timestamp {
        maps[device]?.convert(time).time ?? time
    }

    /// Converts a range of times of a device. Where its clock was set, its first time is not that of the start.
    public func limits(of range: ClosedRange<Timestamp>, of device: DeviceAddress) -> ClosedRange<Timestamp> {
        guard let map = maps[device] else { return range }
        let turns = map.turns.flatMap { [Timestamp(microseconds: $0.microseconds - 1), $0] }.filter(range.contains)
        let times = ([range.lowerBound, range.upperBound] + turns).map { map.convert($0).time }
        return (times.min() ?? range.lowerBound)...(times.max() ?? range.upperBound)
    }

    /// Starts another pass over the same rows.
    public mutating func restart() { series = [:] }

    /// Converts the next row of a stream of its device, and appends the bound to its values.
    /// - Parameters:
    ///   - stream: the index of the stream.
    ///   - columns: the columns of the row.
    ///   - appendsBound: whether the bound is appended to the values.
    ///   - length: the length of the span that begins at the row, in µs. A span that begins before the time range and ends
    ///     in it is moved to the start of the range.
    /// - Returns: nil if the row is outside the time range.
    public mutating func convert(
        _ row: SampleRow, stream: Int = 0, columns: [SensorStream.Column], appendsBound: Bool = true, length: Int64 = 1
    ) -> SampleRow? {
        var values = row.values
        var time = row.time
        var bound = Double.nan
        if let map = maps[row.device] {
            let key = Series(device: row.device, stream: stream)
            let conversion = series[key, default: MonotonicClockMap(map)].convert(row.time)
            (time, bound) = (conversion.time, Double(conversion.bound))
            for (index, column) in columns.enumerated() where column.isTime && index < values.count {
                guard let value = Int64(exactly: values[index]) else { continue }
                values[index] = Double(map.convert(Timestamp(microseconds: value)).time.microseconds)
            }
        }
        if let from, time < from {
            guard from - time < length else { return nil }
            time = from
        }
        if let to, time >= to { return nil }
        if appendsBound { values.append(bound) }
        return SampleRow(device: row.device, time: time, values: values)
    }
}
