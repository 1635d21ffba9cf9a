public import LockstepModel

/// Reads the estimates of devices' clocks.
public protocol ClockEstimateReading: AnyObject {
    /// Returns the estimates of a device's clock in a time range, with those up to an hour before and after it, and the
    /// nearest ones before and after these.
    ///
    /// If several collectors compared their clocks, only the estimates of the collector with the most are returned.
    /// - Parameter timeLine: the time line of the range.
    func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, on timeLine: ClockTimeLine
    ) throws(StoreError) -> [ClockPoint]

    /// Returns the newest estimate of the clock of each device that has any, ordered by group and device.
    func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)]
}

extension ClockEstimateReading {
    /// Returns the estimates of a device's clock in a time range on the device's time line, or all of them.
    public func clockPoints(
        of device: DeviceAddress, from: Timestamp? = nil, to: Timestamp? = nil
    ) throws(StoreError) -> [ClockPoint] {
        try clockPoints(of: device, from: from, to: to, on: .device)
    }
}

/// The time line on which estimates of a clock are searched.
public enum ClockTimeLine: Sendable {
    case device
    case collector

    /// The time of an estimate in SQL.
    package var expression: String {
        switch self {
        case .device: "t"
        case .collector: "t - offset"
        }
    }

    /// The time of an estimate in µs since 1970.
    func time(of point: ClockPoint) -> Int64 {
        switch self {
        case .device: point.time.microseconds
        case .collector: point.time.microseconds - point.offset
        }
    }
}
