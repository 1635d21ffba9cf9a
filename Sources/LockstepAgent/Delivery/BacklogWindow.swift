import LockstepModel

/// How much backlog may be on its way to the collector, so that live data never waits behind it.
///
/// What agents send meets in the collector's one queue: after an outage a thousand of them could fill it for minutes.
/// Each agent watches how long its own backlog takes to be acknowledged, and sends less at a time when that is long, as
/// TCP does with its congestion window (Jacobson, Congestion Avoidance and Control, 1988).
struct BacklogWindow: Sendable {
    /// Batches under way: at the start, and within what bounds.
    static let first = 16
    static let least = 8
    static let most = 1000
    /// µs beyond a round trip within which a collector that keeps up acknowledges: it does so about once a second.
    static let timely: Int64 = 1_200_000
    /// µs beyond a round trip after which it does not keep up.
    static let late: Int64 = 1_500_000
    /// µs after which nobody is expected to acknowledge it: no collector is there, or it can't take it.
    static let hopeless: Int64 = 5_000_000

    private(set) var size = BacklogWindow.first
    /// Until the first time that it is late, the window doubles: nobody knows how much room there is.
    private var wasLate = false
    /// When each was published, in µs of the boot clock.
    private var underWay: [BatchPosition: Int64] = [:]
    /// µs that the network takes: until the broker has confirmed a batch, smoothed (RFC 6298).
    private var roundTrip: Int64?

    var isOpen: Bool { underWay.count < size }

    mutating func didPublish(_ position: BatchPosition, at boot: Int64) { underWay[position] = boot }

    /// The broker has it.
    mutating func confirm(_ position: BatchPosition, at boot: Int64) {
        guard let published = underWay[position] else { return }
        roundTrip = roundTrip.map { $0 + (boot - published - $0) / 8 } ?? boot - published
    }

    /// The collector has these.
    mutating func acknowledge(_ stored: SequenceSet, of epoch: Epoch, at boot: Int64) {
        let arrived = underWay.filter { $0.key.epoch == epoch && stored.contains($0.key.seq) }
        guard let oldest = arrived.values.min() else { return }
        for position in arrived.keys { underWay[position] = nil }
        let delay = boot - oldest - (roundTrip ?? 0)
        if delay > Self.late {
            wasLate = true
            size = max(Self.least, size / 2)
        } else if delay < Self.timely {
            size = min(Self.most, size + (wasLate ? max(1, arrived.count / 4) : arrived.count))
        }
    }

    /// Expects nothing any more of what was published long ago.
    mutating func tick(at boot: Int64) {
        let waiting = underWay.filter { boot - $0.value < Self.hopeless }
        guard waiting.count < underWay.count else { return }
        underWay = waiting
        size = min(size, Self.first)
    }

    /// It is not under way any more, for another reason.
    mutating func remove(_ position: BatchPosition) { underWay[position] = nil }

    /// They are not under way any more, for another reason.
    mutating func remove(_ batches: SequenceSet, of epoch: Epoch) {
        underWay = underWay.filter { $0.key.epoch != epoch || !batches.contains($0.key.seq) }
    }

    /// The connection is gone, and with it all that was under way.
    mutating func removeAll() {
        underWay.removeAll()
        roundTrip = nil
    }
}
