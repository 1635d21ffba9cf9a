/// An exponential retry backoff with jitter, so that a fleet that lost the same server does not reconnect in step.
struct Backoff: Sendable {
    /// The shortest and the longest delay, in s.
    static let minDelay = 0.5
    static let maxDelay = 30.0

    private var upper = 2 * minDelay

    /// Returns the next delay in s: a random value between half and all of 1, 2, 4 … 30 s.
    mutating func next(using generator: inout some RandomNumberGenerator) -> Double {
        defer { upper = min(2 * upper, Self.maxDelay) }
        return Double.random(in: (upper / 2)...upper, using: &generator)
    }

    /// Starts again with the shortest delay, after a successful attempt.
    mutating func reset() { upper = 2 * Self.minDelay }
}
