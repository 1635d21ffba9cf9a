/// How long to wait before the next try: doubling from `first` to `longest`, each drawn from the upper half of that
/// span, so that a fleet does not come back in one wave.
public struct Backoff: Sendable {
    public var first: Duration
    public var longest: Duration
    private var failures = 0

    public init(first: Duration = .milliseconds(500), longest: Duration = .seconds(30)) {
        self.first = first
        self.longest = longest
    }

    /// The wait after one more failure.
    public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        let span = min(longest, first * (1 << min(failures, 20)))
        failures += 1
        return span * Double.random(in: 0.5...1, using: &generator)
    }

    /// Starts over after a success.
    public mutating func reset() { failures = 0 }
}
