/// What a network takes at the least, of the last minute or two: what is above it was spent in queues. A network that has
/// become slower is known after that time.
struct RoundTrip: Sendable {
    /// µs after which the older half of what is known is forgotten.
    private static let span: Int64 = 60_000_000

    private var recent: Int64?
    private var earlier: Int64?
    /// In µs of the boot clock.
    private var since: Int64 = 0

    /// µs; nil where nothing is known.
    var least: Int64? { [recent, earlier].compactMap { $0 }.min() }

    /// Takes in that a message and its confirmation have taken `duration` µs.
    mutating func add(_ duration: Int64, at boot: Int64) {
        if boot - since >= Self.span {
            earlier = recent
            recent = nil
            since = boot
        }
        recent = min(duration, recent ?? duration)
    }
}
