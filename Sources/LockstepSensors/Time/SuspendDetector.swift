public import LockstepModel

/// Tells that the machine was suspended: the boot clock ran on while the monotonic clock stood.
public struct SuspendDetector: Sendable {
    /// Shorter stops are the two clocks being read one after the other.
    static let shortest: Int64 = 1_000_000

    private var last: Moment

    public init(at moment: Moment) { last = moment }

    /// - Returns: the boot time at which the suspend began, if there was one since the last call.
    public mutating func observe(_ moment: Moment) -> Int64? {
        defer { last = moment }
        let stood = (moment.boot - last.boot) - (moment.awake - last.awake)
        return stood >= Self.shortest ? last.boot : nil
    }
}
