public import LockstepModel

/// Converts times of one device to a collector's clock, with the estimates of the device's clock.
///
/// Between two estimates of a segment, the offset is linear; before the first and after the last one it is extrapolated.
/// A time outside of all segments uses the nearest one.
public struct ClockMap: Sendable {
    /// A time on the collector's clock.
    public struct Conversion: Hashable, Sendable {
        /// The time.
        public var time: Timestamp
        /// The largest possible error of `time`, in µs.
        public var bound: Int64

        /// Creates a conversion.
        public init(time: Timestamp, bound: Int64) {
            self.time = time
            self.bound = bound
        }
    }

    /// The estimates of each segment, in order of time.
    private let segments: [[ClockPoint]]

    /// Creates a map, or returns nil if there are no estimates.
    /// - Parameter points: the estimates against one collector, in any order.
    public init?(_ points: [ClockPoint]) {
        guard !points.isEmpty else { return nil }
        segments = Dictionary(grouping: points, by: \.segment).values
            .map { $0.sorted { $0.time < $1.time } }
            .sorted { ($0[0].segment, $0[0].time) < ($1[0].segment, $1[0].time) }
    }

    /// The lowest and highest possible offset of all estimates: the device's time minus the collector's, in µs.
    public var offsets: ClosedRange<Int64> {
        var (low, high) = (Int64.max, Int64.min)
        for point in segments.joined() {
            low = min(low, point.offset - point.bound)
            high = max(high, point.offset + point.bound)
        }
        return min(low, high)...max(low, high)
    }

    /// Converts a time of the device.
    public func convert(_ time: Timestamp) -> Conversion {
        var best: (distance: Int64, segment: Int)?
        var others: [Int] = []
        for (index, segment) in segments.enumerated() {
            let distance = Self.distance(time, segment)
            if distance == 0, best?.distance == 0 { others.append(index) }
            if best.map({ distance < $0.distance }) ?? true { best = (distance, index) }
        }
        var (low, high) = range(time, best?.segment ?? 0)
        // After a clock was set back, a time may belong to several segments: the bound covers all of them.
        for index in others {
            let other = range(time, index)
            (low, high) = (min(low, other.low), max(high, other.high))
        }
        let middle = ((low + high) / 2).rounded()
        let bound = ((high - low) / 2).rounded(.up) + (others.isEmpty ? 0 : 1)
        return Conversion(
            time: time - (Int64(exactly: middle) ?? 0), bound: Int64(exactly: bound) ?? .max)
    }

    /// Returns the lowest and highest possible offset at a time, with the estimates of one segment.
    private func range(_ time: Timestamp, _ index: Int) -> (low: Double, high: Double) {
        let points = segments[index]
        var (lower, upper) = (0, points.count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if points[middle].time <= time { lower = middle + 1 } else { upper = middle }
        }
        guard lower > 0, lower < points.count else {
            let point = points[lower == 0 ? 0 : points.count - 1]
            let (offset, bound) = point.extrapolated(by: time - point.time)
            return (offset - bound, offset + bound)
        }
        let (before, after) = (points[lower - 1], points[lower])
        let span = Double(after.time - before.time)
        let part = Double(time - before.time) / span
        let offset = Double(before.offset) + part * Double(after.offset - before.offset)
        // The skew differs from that of the chord by at most the error of the skew, on each side.
        let seconds = span / 1e6
        let bend =
            2 * Double(max(before.skewBound, after.skewBound)) / 1000 * part * (1 - part) * seconds
            + ClockWander.error(after: min(part, 1 - part) * seconds)
        let bound = Double(before.bound) + part * Double(after.bound - before.bound) + bend
        return (offset - bound, offset + bound)
    }

    /// Returns the distance of a time from a segment, or 0 if it is inside.
    private static func distance(_ time: Timestamp, _ segment: [ClockPoint]) -> Int64 {
        guard let first = segment.first, let last = segment.last else { return .max }
        return max(0, first.time - time, time - last.time)
    }
}

/// Converts increasing times of one device so that the results increase as well.
///
/// A segment may begin earlier than the previous one ended: within the bounds, or because a collector's clock was set
/// back. Such a time is moved to 1 µs after the previous one, and its bound grows by as much.
public struct MonotonicClockMap: Sendable {
    private let map: ClockMap
    private var last: Int64?

    /// Creates a map for one series of increasing times.
    public init(_ map: ClockMap) { self.map = map }

    /// Converts the next time.
    public mutating func convert(_ time: Timestamp) -> ClockMap.Conversion {
        var result = map.convert(time)
        if let last, result.time.microseconds <= last {
            let moved = last + 1 - result.time.microseconds
            result.time = Timestamp(microseconds: last + 1)
            result.bound = result.bound > .max - moved ? .max : result.bound + moved
        }
        last = result.time.microseconds
        return result
    }
}
