/// Converts times of one device to a collector's clock, with the estimates of the device's clock.
///
/// Between two estimates of a segment, the offset is linear; before the first and after the last one it is extrapolated.
/// A time outside of all segments uses the nearest one. Between two segments, the bound also covers the other one.
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

    /// Returns the longest time in µs, on the collector's clock, between a time in a range and the nearest estimates.
    public func distance(from: Timestamp?, to: Timestamp?) -> Int64 {
        let times = segments.joined().map { $0.time - $0.offset }.sorted()
        guard let first = times.first, let last = times.last else { return 0 }
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        return max(
            gaps.max() ?? 0, from.map { max(first - $0, $0 - last) } ?? 0, to.map { max(first - $0, $0 - last) } ?? 0)
    }

    /// The times of the device, in order, at which another segment may become the nearest one. From one to the next,
    /// conversions do not decrease.
    public var turns: [Timestamp] {
        let ends = segments.compactMap(\.last?.time).map { $0 + 1 }
        let times = (segments.compactMap(\.first?.time) + ends).sorted()
        // Between two segments, the nearer one is used. The type is for the type checker of Swift 6.2.
        let middles: [Timestamp] = zip(times, times.dropFirst()).map { $0 + ($1 - $0 + 1) / 2 }
        return (times + middles).sorted()
    }

    /// Converts a time of the device.
    public func convert(_ time: Timestamp) -> Conversion {
        // The segments with the time, and the nearest ones before and after it.
        var inside: [Int] = []
        var before: (end: Timestamp, segment: Int)?
        var after: (start: Timestamp, segment: Int)?
        for (index, segment) in segments.enumerated() {
            guard let first = segment.first?.time, let last = segment.last?.time else { continue }
            if last < time {
                if before.map({ last >= $0.end }) ?? true { before = (last, index) }
            } else if first > time {
                if after.map({ first < $0.start }) ?? true { after = (first, index) }
            } else {
                inside.append(index)
            }
        }
        guard inside.isEmpty else { return conversion(of: time, inside.map { range(time, $0) }) }
        switch (before, after) {
        case (let before?, let after?):
            let isBeforeNearer = time - before.end <= after.start - time
            return conversion(
                of: time, between: range(time, isBeforeNearer ? before.segment : after.segment),
                or: range(time, isBeforeNearer ? after.segment : before.segment))
        case (let only?, nil): return conversion(of: time, [range(time, only.segment)])
        case (nil, let only): return conversion(of: time, [range(time, only?.segment ?? 0)])
        }
    }

    /// Converts a time that belongs to one or several segments. After a clock was set back, the bound covers all of them.
    private func conversion(of time: Timestamp, _ ranges: [(low: Double, high: Double)]) -> Conversion {
        let low = ranges.map(\.low).min() ?? 0
        let high = ranges.map(\.high).max() ?? 0
        let bound = ((high - low) / 2).rounded(.up) + (ranges.count > 1 ? 1 : 0)
        return Conversion(
            time: time - (Int64(exactly: ((low + high) / 2).rounded()) ?? 0), bound: Int64(exactly: bound) ?? .max)
    }

    /// Converts a time between two segments with the nearer one.
    ///
    /// The step that ended the one before may have been at any time between them. The bound therefore also covers the
    /// other segment.
    private func conversion(
        of time: Timestamp, between nearer: (low: Double, high: Double), or other: (low: Double, high: Double)
    ) -> Conversion {
        var result = conversion(of: time, [nearer])
        let offset = Double(time - result.time)
        let reach = max(offset - min(nearer.low, other.low), max(nearer.high, other.high) - offset).rounded(.up)
        result.bound = max(result.bound, Int64(exactly: reach) ?? .max)
        return result
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
