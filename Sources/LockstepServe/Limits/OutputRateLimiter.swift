/// Limits the average rate at which an answer is sent.
struct OutputRateLimiter {
    /// The rate in bytes per second.
    let rate: Int
    private let start: ContinuousClock.Instant
    private var sent = 0

    init(rate: Int, at start: ContinuousClock.Instant = .now) {
        self.rate = rate
        self.start = start
    }

    /// Counts sent bytes, and returns the time at which the next bytes may be sent.
    mutating func send(_ bytes: Int) -> ContinuousClock.Instant {
        sent += bytes
        return start + .seconds(Double(sent) / Double(rate))
    }
}
