/// An estimate of a device's time line against a collector's clock, at one time.
///
/// Between two points of the same segment the offset is linear. The bound is the largest possible error, not a standard
/// deviation.
public struct ClockPoint: Hashable, Sendable {
    /// The collector whose clock is the reference.
    public var collector: CollectorID
    /// The time of the estimate, on the device's time line.
    public var time: Timestamp
    /// The time of the first estimate of the segment, on the device's time line. A segment ends when one of the clocks
    /// is stepped, or when the device or the collector's machine was suspended or restarted.
    public var segment: Timestamp
    /// The device's time minus the collector's time, in µs.
    public var offset: Int64
    /// The change of `offset`, in ns per second (0.001 ppm).
    public var skew: Int64
    /// The largest possible error of `offset`, in µs.
    public var bound: Int64
    /// The largest possible error of `skew`, in ns per second.
    public var skewBound: Int64

    /// Creates an estimate.
    public init(
        collector: CollectorID, time: Timestamp, segment: Timestamp, offset: Int64, skew: Int64, bound: Int64,
        skewBound: Int64
    ) {
        self.collector = collector
        self.time = time
        self.segment = segment
        self.offset = offset
        self.skew = skew
        self.bound = bound
        self.skewBound = skewBound
    }

    /// Returns the offset and its bound `interval` µs after the estimate, or before it if `interval` is negative.
    public func extrapolated(by interval: Int64) -> (offset: Double, bound: Double) {
        let seconds = Double(interval) / 1e6
        let age = abs(seconds)
        return (
            Double(offset) + Double(skew) * seconds / 1000,
            Double(bound) + Double(skewBound) * age / 1000 + ClockWander.error(after: age)
        )
    }
}

extension ClockPoint {
    /// The offset, its bound and the age of the estimate in s, at a time on the collector's clock.
    public func at(collectorTime now: Timestamp) -> (offset: Double, bound: Double, age: Double) {
        let interval = max(0, now - (time - offset))
        let (offset, bound) = extrapolated(by: interval)
        return (offset, bound, Double(interval) / 1e6)
    }
}

/// The largest assumed change of a quartz oscillator's frequency.
///
/// The frequency follows the temperature: a quartz 10 K from its turnover temperature changes by about 1 ppm per K, and
/// small devices warm up or cool down by some K per minute.
public enum ClockWander {
    /// The fastest change of the frequency of one clock against another, in ppm per second.
    public static let rate = 0.05
    /// The largest change of the frequency, in ppm.
    public static let limit = 25.0

    /// Returns the largest error of a time, in µs, that results `age` seconds after the frequency was exactly known.
    public static func error(after age: Double) -> Double { min(rate * age * age / 2, limit * age) }
}

/// The clock of a device as reported in its presence.
public struct ClockReport: Hashable, Sendable {
    /// Whether the device's wall clock is disciplined, for example by NTP or PTP; nil if this is unknown.
    public var isSynchronised: Bool?
    /// The largest error of a disciplined wall clock as its daemon states it, in µs.
    public var maxError: Int64?
    /// The estimates since the previous report, in order of time for each collector.
    public var points: [ClockPoint]

    /// The maximum number of estimates in a report.
    public static let maxPoints = 16

    /// Creates a report.
    public init(isSynchronised: Bool? = nil, maxError: Int64? = nil, points: [ClockPoint] = []) {
        self.isSynchronised = isSynchronised
        self.maxError = maxError
        self.points = points
    }
}
