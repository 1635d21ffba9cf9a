/// A filter for three-axis samples that processes one sample at a time. Filters are values: they can be copied, stored
/// and chained.
///
/// ```swift
/// var filter = LowPassFilter(cutOff: 10).then(HighPassFilter(cutOff: 0.5))
/// let value = filter.update(SIMD3(x, y, z), time: microseconds)
/// ```
public protocol MotionFilter: Sendable {
    /// Filters a sample.
    ///
    /// - Parameters:
    ///   - value: the sample, in any unit.
    ///   - time: the time of the sample in µs, of any clock. Intervals may vary.
    /// - Returns: the filtered value, in the unit of the sample. A sample that is not finite or not later than the
    ///   previous one is ignored: the result is the previous output, or `value` if there is none.
    mutating func update(_ value: SIMD3<Double>, time: Int64) -> SIMD3<Double>

    /// Resets the filter to its initial state.
    mutating func reset()
}

extension MotionFilter {
    /// Returns a filter that applies this filter and then `next`.
    public func then<Next: MotionFilter>(_ next: Next) -> FilterChain<Self, Next> {
        FilterChain(first: self, second: next)
    }
}

/// Two filters in series.
public struct FilterChain<First: MotionFilter, Second: MotionFilter>: MotionFilter {
    /// The filter that is applied first.
    public private(set) var first: First
    /// The filter that is applied to the output of ``first``.
    public private(set) var second: Second

    /// Creates a chain of two filters.
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
