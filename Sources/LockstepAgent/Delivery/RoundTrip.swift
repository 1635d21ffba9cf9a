/// The minimum round-trip time of the last one to two minutes: any time above it was spent in queues.
///
/// If the way becomes slower, the minimum follows after two minutes at most.
struct RoundTrip: Sendable {
    /// The length of a measuring period in µs. The minimum covers the current and the previous period.
    private static let period: Int64 = 60_000_000

    private var current: Int64?
    private var previous: Int64?
    /// The start of the current period in µs of the boot clock.
    private var periodStart: Int64 = 0

    /// The minimum in µs, or nil if there is no measurement.
    var minimum: Int64? { [current, previous].compactMap { $0 }.min() }

    /// Adds a measurement.
    /// - Parameters:
    ///   - duration: the time between a message and its acknowledgement in µs.
    ///   - boot: the current time in µs of the boot clock.
    mutating func add(_ duration: Int64, at boot: Int64) {
        if boot - periodStart >= Self.period {
            previous = current
            current = nil
            periodStart = boot
        }
        current = min(duration, current ?? duration)
    }
}
