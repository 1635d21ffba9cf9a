/// Three axes in, three axes out, one sample at a time; a value that can be copied, stored and put in a row.
///
/// ```swift
/// var filter = LowPassFilter(cutOff: 10).then(HighPassFilter(cutOff: 0.5))
/// let value = filter.update(SIMD3(x, y, z), time: microseconds)
/// ```
public protocol MotionFilter: Sendable {
    /// Takes a sample.
    /// - Parameters:
    ///   - value: of any unit; the result is of the same.
    ///   - time: µs of any clock. Intervals may vary.
    /// - Returns: what the filter makes of it. A sample that is not later than the one before, or not finite, is passed
    ///   over: the result is the one before (and for a filter that has seen nothing, `value`).
    mutating func update(_ value: SIMD3<Double>, time: Int64) -> SIMD3<Double>

    /// Forgets what it has seen: the next sample is the first.
    mutating func reset()
}

extension MotionFilter {
    /// This filter, and then `next`, as one.
    public func then<Next: MotionFilter>(_ next: Next) -> FilterChain<Self, Next> {
        FilterChain(first: self, second: next)
    }
}

/// Two filters in a row.
public struct FilterChain<First: MotionFilter, Second: MotionFilter>: MotionFilter {
    public private(set) var first: First
    public private(set) var second: Second

    public init(first: First, second: Second) {
        self.first = first
        self.second = second
    }

    public mutating func update(_ value: SIMD3<Double>, time: Int64) -> SIMD3<Double> {
        second.update(first.update(value, time: time), time: time)
    }

    public mutating func reset() {
        first.reset()
        second.reset()
    }
}
