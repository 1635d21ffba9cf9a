/// Rejects swings that occur more often than the two steps of each measured stride.
///
/// A device that rebounds in a pocket causes an extra peak per stride. The stride itself remains detectable as the
/// fundamental period of the signal (``Periodicity/fundamentalPeriod``), and a stride has two steps. The limiter is a
/// token bucket: time adds two steps per stride, and each accepted swing takes one.
struct CadenceLimiter: Sendable {
    /// The stride durations, in s, for which swings are limited: cadences of 1.6 to 2.9 steps/s. Other periods may
    /// belong to single steps or several strides.
    private static let strides = 0.7...1.25
    /// The fill rate of the bucket relative to two steps per stride: a small error of the period must not cost steps.
    private static let margin = 1.03
    /// The capacity of the bucket, in steps.
    private static let capacity = 1.3
    /// The level that a swing needs, below 1 because the steps of the two feet may differ in duration.
    private static let minLevel = 0.5

    private var level = capacity
    private var last: Int64?

    /// Returns whether a swing can be a step.
    ///
    /// - Parameters:
    ///   - time: the time of the swing, in µs.
    ///   - period: the fundamental period of the signal in s; nil if it is unknown.
    mutating func accepts(at time: Int64, period: Double?) -> Bool {
        let elapsed = last.map { Double(time - $0) / 1e6 } ?? .infinity
        last = time
        guard let period, Self.strides.contains(period) else {
            level = Self.capacity
            return true
        }
        level = min(level + 2 * Self.margin * elapsed / period, Self.capacity)
        guard level >= Self.minLevel else { return false }
        level -= 1
        return true
    }
}
