/// How many bytes of backlog may leave: a rate, with a second of it saved up at the most.
public struct ByteBudget: Sendable {
    /// Bytes a second.
    public let rate: Int
    private var available: Double
    private var filledAt: Int64

    public init(rate: Int, at boot: Int64) {
        self.rate = rate
        available = Double(rate)
        filledAt = boot
    }

    /// Whether more may leave at `boot`, in µs of the boot clock.
    public mutating func isOpen(at boot: Int64) -> Bool {
        available = min(Double(rate), available + Double(boot - filledAt) * Double(rate) / 1_000_000)
        filledAt = boot
        return available > 0
    }

    /// Takes what has left; one message may overdraw.
    public mutating func spend(_ bytes: Int) { available -= Double(bytes) }
}
