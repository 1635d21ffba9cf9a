import LockstepModel

/// How much backlog may be on its way to the collector, so that live data never waits behind it.
///
/// What agents send meets in the collector's one queue: after an outage a thousand of them could fill it for minutes.
/// Each agent watches how long what it sends waits in queues, live or not, and sends less backlog at a time when that is
/// long, as TCP does with its congestion window (Jacobson, Congestion Avoidance and Control, 1988) where delay tells of
/// congestion (LEDBAT, RFC 6817).
struct InFlightWindow: Sendable {
    /// Batches under way: at the start, and within what bounds.
    static let first = 8
    static let least = 4
    static let most = 1000
    /// µs in queues below which there is room for more: a collector with much to do acknowledges a few times a second.
    static let timely: Int64 = 300_000
    /// µs in queues above which there was too much under way.
    static let late: Int64 = 700_000
    /// µs for which a collector that does not tell is supposed to have held an acknowledgement back.
    static let usuallyHeld: Int64 = 1_000_000
    /// µs after which nobody is expected to acknowledge it: no collector is there, or it can't take it.
    static let hopeless: Int64 = 5_000_000

    private struct Published {
        /// In µs of the boot clock.
        let at: Int64
        let isBacklog: Bool
    }

    private(set) var size = InFlightWindow.first
    /// Until the first time that it is late, the window doubles: nobody knows how much room there is.
    private var wasLate = false
    private var underWay: [BatchPosition: Published] = [:]
    private var backlogUnderWay = 0
    private var network = RoundTrip()

    var isOpen: Bool { backlogUnderWay < size }

    mutating func didPublish(_ position: BatchPosition, isBacklog: Bool, at boot: Int64) {
        remove(position)
        underWay[position] = Published(at: boot, isBacklog: isBacklog)
        if isBacklog { backlogUnderWay += 1 }
    }

    /// The broker has it.
    mutating func confirm(_ position: BatchPosition, at boot: Int64) {
        guard let published = underWay[position]?.at else { return }
        network.add(boot - published, at: boot)
    }

    /// The collector has these.
    /// - Parameter held: µs for which it held its word back.
    mutating func acknowledge(_ stored: SequenceSet, held: Int64?, of epoch: Epoch, at boot: Int64) {
        let arrived = underWay.filter { $0.key.epoch == epoch && stored.contains($0.key.seq) }
        guard let newest = arrived.values.lazy.map(\.at).max() else { return }
        let before = backlogUnderWay
        for position in arrived.keys { remove(position) }
        let backlog = before - backlogUnderWay
        // Without backlog of our own under way there is nothing to learn for it.
        guard backlog > 0 else { return }
        let delay = boot - newest - (network.least ?? 0) - (held ?? Self.usuallyHeld)
        if delay > Self.late {
            wasLate = true
            size = max(Self.least, size / 2)
        } else if delay < Self.timely, 2 * before >= size {
            // A window that is not made use of says nothing of a larger one (RFC 7661).
            size = min(Self.most, size + (wasLate ? max(1, backlog / 4) : backlog))
        }
    }

    /// Expects nothing any more of what was published long ago.
    mutating func tick(at boot: Int64) {
        let hopeless = underWay.filter { boot - $0.value.at >= Self.hopeless }
        guard !hopeless.isEmpty else { return }
        for position in hopeless.keys { remove(position) }
        if hopeless.values.contains(where: \.isBacklog) { size = min(size, Self.first) }
    }

    /// It is not under way any more, for another reason.
    mutating func remove(_ position: BatchPosition) {
        if underWay.removeValue(forKey: position)?.isBacklog == true { backlogUnderWay -= 1 }
    }

    /// They are not under way any more, for another reason.
    mutating func remove(_ batches: SequenceSet, of epoch: Epoch) {
        for position in underWay.keys where position.epoch == epoch && batches.contains(position.seq) {
            remove(position)
        }
    }

    /// The connection is gone, and with it all that was under way.
    mutating func removeAll() {
        underWay.removeAll()
        backlogUnderWay = 0
        network = RoundTrip()
    }
}
