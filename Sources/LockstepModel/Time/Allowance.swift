/// Limits how often something happens: some times at once, and then at a constant rate. Unused time adds up to the former.
package struct Allowance: Sendable {
    /// The limit of an allowance.
    package struct Rate: Hashable, Sendable, CustomStringConvertible {
        /// How often something may happen at once.
        package let burst: Int64
        /// The time until it may happen once more, in µs.
        package let interval: Int64

        package init(burst: Int64, interval: Int64) {
            self.burst = burst
            self.interval = interval
        }

        package var description: String {
            "at most \(burst) at once, and one in \(interval / 1_000_000) s after that"
        }
    }

    /// The time from which nothing is used up, in µs of the boot clock.
    private var restored = Int64.min

    /// Creates an allowance of which nothing is used up.
    package init() {}

    /// Uses up one occurrence.
    /// - Returns: false if there is none left.
    package mutating func take(_ rate: Rate, at boot: Int64) -> Bool {
        let start = max(restored, boot)
        guard start - boot <= (rate.burst - 1) * rate.interval else { return false }
        restored = start + rate.interval
        return true
    }
}
