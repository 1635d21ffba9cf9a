/// Limits the rate of backlog in bytes a second. Unused budget accumulates for at most one second.
public struct ByteBudget: Sendable {
    /// The rate in bytes a second.
    public let rate: Int
    private var available: Double
    private var filledAt: Int64

    /// Creates a budget that starts with the bytes of one second.
    /// - Parameters:
    ///   - rate: the rate in bytes a second.
    ///   - boot: the current time in µs of the boot clock.
    public init(rate: Int, at boot: Int64) {
        self.rate = rate
        available = Double(rate)
        filledAt = boot
    }

    /// Returns whether a message may be sent.
    /// - Parameter boot: the current time in µs of the boot clock.
    public mutating func isOpen(at boot: Int64) -> Bool {
        available = min(Double(rate), available + Double(boot - filledAt) * Double(rate) / 1_000_000)
        filledAt = boot
        return available > 0
    }

    /// Subtracts the bytes of a sent message, which may overdraw the budget.
    public mutating func spend(_ bytes: Int) { available -= Double(bytes) }
}
