import LockstepModel
import LockstepStore

/// The columns of `received_clocks` in the order in which estimates are encoded. They are those of an SQLite store.
enum ClockColumns {
    static let names = ["device_id", "collector", "epoch", "t", "segment", "offset", "skew", "bound", "skew_bound"]
}

extension RowBinary {
    /// Appends a row for `received_clocks`.
    mutating func append(_ clock: DeviceClock) {
        append(DeviceRecord.id(of: clock.device))
        append(clock.point.collector.rawValue)
        append(clock.epoch.rawValue)
        append(clock.point.time.microseconds)
        append(clock.point.segment.microseconds)
        append(clock.point.offset)
        append(Double(clock.point.skew) / 1000)
        append(clock.point.bound)
        append(Double(clock.point.skewBound) / 1000)
        endRow()
    }
}
