/// Exponential backoff with jitter: the delay limit doubles from `initial` to `maximum`.
///
/// Each delay is random between half of the limit and the limit, so that the clients of a fleet do not reconnect at the
/// same time. Implemented here because the available packages combine the backoff with their own timers.
public struct Backoff: Sendable {
    /// The limit of the first delay.
    public var initial: Duration
    /// The limit of all delays.
    public var maximum: Duration
    private var failures = 0

    /// Creates a backoff.
    public init(initial: Duration = .milliseconds(500), maximum: Duration = .seconds(30)) {
        self.initial = initial
        self.maximum = maximum
    }

    /// Records a failure and returns the delay before the next attempt.
    public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let limit = min(maximum, initial * (1 << min(failures, 20)))
        failures += 1
        return limit * Double.random(in: 0.5...1, using: &generator)
    }

    /// Resets the limit to `initial`. Call it after a success.
    public mutating func reset() { failures = 0 }
}
