public import LockstepModel

/// Detects suspends of the machine: during a suspend the boot clock advances and the monotonic clock does not.
public struct SuspendDetector: Sendable {
    /// The shortest suspend that is detected, in µs. Smaller differences result from reading two clocks.
    static let minDuration: Int64 = 1_000_000

    private var last: Moment

    /// Starts at `moment`.
    public init(at moment: Moment) { last = moment }

    /// Compares the advances of both clocks since the last call.
    /// - Returns: The boot time at which a suspend since the last call began, or nil.
    public mutating func observe(_ moment: Moment) -> Int64? {
        defer { last = moment }
        let suspended = (moment.boot - last.boot) - (moment.awake - last.awake)
        return suspended >= Self.minDuration ? last.boot : nil
    }
}
