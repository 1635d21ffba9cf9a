/// An exponential retry backoff with jitter, so that many agents that lost the same server do not reconnect at once.
struct Backoff: Sendable {
    /// The shortest delay, in s.
    static let minDelay = 0.5
    /// The longest delay, in s.
    static let maxDelay = 30.0

    /// The upper bound of the next delay, in s.
    private var upper = 2 * minDelay

    /// Returns the next delay in s: a random value between half and all of 1, 2, 4 … 30 s.
    mutating func next(using generator: inout some RandomNumberGenerator) -> Double {
        defer { upper = min(2 * upper, Self.maxDelay) }
        return Double.random(in: (upper / 2)...upper, using: &generator)
    }

    /// Restarts with the shortest delay. To be called after a successful attempt.
    mutating func reset() { upper = 2 * Self.minDelay }
}
