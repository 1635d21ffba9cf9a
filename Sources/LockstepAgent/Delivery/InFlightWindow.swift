import LockstepModel

/// Limits the backlog in flight to the collector, so that live data does not wait behind it.
///
/// All agents share the collector's queue: after an outage, a thousand agents could fill it for minutes. Each agent
/// measures the queueing delay of its batches, live and backlog, and reduces its backlog in flight if the delay is
/// long. This follows TCP's congestion window (Jacobson, Congestion Avoidance and Control, 1988) with delay as the
/// congestion signal (LEDBAT, RFC 6817).
struct InFlightWindow: Sendable {
    /// The initial size of the window.
    static let initialSize = 8
    /// The limits of the size.
    static let minSize = 4
    static let maxSize = 1000
    /// The queueing delay in µs below which the window grows. A busy collector acknowledges a few times a second.
    static let lowDelay: Int64 = 300_000
    /// The queueing delay in µs above which the window shrinks.
    static let highDelay: Int64 = 700_000
    /// The hold time in µs that is assumed if the collector does not report it. The hold time is the delay between a
    /// commit and its acknowledgement.
    static let defaultHoldTime: Int64 = 1_000_000
    /// The time in µs after which no acknowledgement is expected: there is no collector, or it cannot store the batch.
    static let acknowledgementTimeout: Int64 = 5_000_000

    private struct Published {
        /// The time of publication, in µs of the boot clock.
        let at: Int64
        let isBacklog: Bool
    }

    /// The maximum number of backlog batches in flight.
    private(set) var size = InFlightWindow.initialSize
    /// Whether a delay has exceeded `highDelay`. Until then the window doubles, because the capacity is unknown (slow
    /// start).
    private var hasBeenLate = false
    private var inFlight: [BatchPosition: Published] = [:]
    private var backlogInFlight = 0
    /// The round-trip time to the broker, without queueing.
    private var network = RoundTrip()

    /// Whether more backlog may be published.
    var isOpen: Bool { backlogInFlight < size }

    mutating func didPublish(_ position: BatchPosition, isBacklog: Bool, at boot: Int64) {
        remove(position)
        inFlight[position] = Published(at: boot, isBacklog: isBacklog)
        if isBacklog { backlogInFlight += 1 }
    }

    /// Handles the PUBACK of a batch.
    mutating func confirm(_ position: BatchPosition, at boot: Int64) {
        guard let published = inFlight[position]?.at else { return }
        network.add(boot - published, at: boot)
    }

    /// Handles the acknowledgement of a collector.
    /// - Parameters:
    ///   - stored: the numbers of the stored batches.
    ///   - holdTime: the time by which the collector delayed the acknowledgement, in µs, or nil if unknown.
    mutating func acknowledge(_ stored: SequenceSet, holdTime: Int64?, of epoch: Epoch, at boot: Int64) {
        let arrived = inFlight.filter { $0.key.epoch == epoch && stored.contains($0.key.seq) }
        guard let newest = arrived.values.lazy.map(\.at).max() else { return }
        let before = backlogInFlight
        for position in arrived.keys { remove(position) }
        let backlog = before - backlogInFlight
        // Live batches alone are no evidence for the size of the window.
        guard backlog > 0 else { return }
        let delay = boot - newest - (network.minimum ?? 0) - (holdTime ?? Self.defaultHoldTime)
        if delay > Self.highDelay {
            hasBeenLate = true
            size = max(Self.minSize, size / 2)
        } else if delay < Self.lowDelay, 2 * before >= size {
            // Grow only if the window was in use: an unused window gives no evidence for a larger one (RFC 7661).
            size = min(Self.maxSize, size + (hasBeenLate ? max(1, backlog / 4) : backlog))
        }
    }

    /// Removes batches whose acknowledgement has timed out.
    mutating func tick(at boot: Int64) {
        let expired = inFlight.filter { boot - $0.value.at >= Self.acknowledgementTimeout }
        guard !expired.isEmpty else { return }
        for position in expired.keys { remove(position) }
        if expired.values.contains(where: \.isBacklog) { size = min(size, Self.initialSize) }
    }

    /// Removes a batch that is no longer in flight, without measuring its delay.
    mutating func remove(_ position: BatchPosition) {
        if inFlight.removeValue(forKey: position)?.isBacklog == true { backlogInFlight -= 1 }
    }

    /// Removes batches that are no longer in flight, without measuring their delays.
    mutating func remove(_ batches: SequenceSet, of epoch: Epoch) {
        for position in inFlight.keys where position.epoch == epoch && batches.contains(position.seq) {
            remove(position)
        }
    }

    /// Removes all batches and measurements, because the connection is lost.
    mutating func removeAll() {
        inFlight.removeAll()
        backlogInFlight = 0
        network = RoundTrip()
    }
}
