public import LockstepModel

/// Detects suspends of the machine: the boot clock advances while the monotonic clock stops.
public struct SuspendDetector: Sendable {
    /// The shortest suspend, in µs. Smaller differences result from reading two clocks.
    static let minDuration: Int64 = 1_000_000

    private var last: Moment

    /// Starts at `moment`.
    public init(at moment: Moment) { last = moment }

    /// Compares the clocks with the last call.
    /// - Returns: The boot time at which a suspend since the last call began, or nil.
    public mutating func observe(_ moment: Moment) -> Int64? {
        defer { last = moment }
        let stood = (moment.boot - last.boot) - (moment.awake - last.awake)
        return stood >= Self.minDuration ? last.boot : nil
    }
}
