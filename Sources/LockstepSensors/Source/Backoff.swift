/// How long to wait before the next attempt: twice as long each time, with chance in it, so that a fleet that lost the
/// same server does not come back in step.
struct Backoff: Sendable {
    /// The shortest and the longest wait, in s.
    static let shortest = 0.5
    static let longest = 30.0

    private var upper = 2 * shortest

    /// The next wait, in s: between a half and the whole of 1, 2, 4 … 30 s.
    mutating func next(using generator: inout some RandomNumberGenerator) -> Double {
        defer { upper = min(2 * upper, Self.longest) }
        return Double.random(in: (upper / 2)...upper, using: &generator)
    }

    /// The attempt was a success.
    mutating func reset() { upper = 2 * Self.shortest }
}
