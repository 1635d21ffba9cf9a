import LockstepModel

/// Limits the backlog in flight to the collector, so that live data does not wait behind it.
///
/// All agents share the collector's queue: after an outage, a thousand agents could fill it for minutes. Each agent
/// measures the queueing delay of its batches, live and backlog, and reduces its backlog in flight if the delay is
/// long. This follows TCP's congestion window (Jacobson, Congestion Avoidance and Control, 1988) with delay as the
/// congestion signal (LEDBAT, RFC 6817).
///
/// The delay is measured from the PUBACK of a batch to the collector's acknowledgement, without the hold time. Both come
/// over the same link, so that its latency and its queues do not count: ``LinkWindow`` limits those. The hold time covers a
/// commit, so that a collector with a slow store does not look like one with a queue.
struct InFlightWindow: Sendable {
    /// The initial size of the window in batches.
    static let initialSize = 4.0
    /// The limits of the size. Below 1, one batch is in flight for a part of the time: a thousand agents with one batch each
    /// can be too many.
    static let minSize = 0.125
    static let maxSize = 1000.0
    /// The queueing delay in µs below which the window grows. A busy collector acknowledges a few times a second.
    static let lowDelay: Int64 = 300_000
    /// The queueing delay in µs above which the window shrinks.
    static let highDelay: Int64 = 700_000
    /// The factor by which the window grows in a round trip, once its capacity is known.
    static let growth = 1.25
    /// The hold time in µs that is assumed if the collector does not report it.
    static let defaultHoldTime: Int64 = 1_000_000
    /// The minimum time in µs after the PUBACK from which no acknowledgement is expected: there is no collector, or it cannot
    /// store the batch.
    static let minTimeout: Int64 = 5_000_000

    private struct Published {
        /// The time of publication, in µs of the boot clock.
        let at: Int64
        let isBacklog: Bool
        /// The time of the PUBACK, in µs of the boot clock; nil before it.
        var confirmedAt: Int64?
    }

    /// The maximum number of backlog batches in flight.
    private(set) var size = InFlightWindow.initialSize
    /// Whether a delay has exceeded `highDelay`. Until then the window doubles, because the capacity is unknown (slow
    /// start).
    private var hasBeenLate = false
    private var inFlight: [BatchPosition: Published] = [:]
    private var backlogInFlight = 0
    /// The longest time from a PUBACK to the last acknowledgement, in µs. Slow commits make it long.
    private var roundTrip: Int64 = 0
    /// The first batch whose acknowledgement has timed out, the time of its PUBACK, and the size before the timeouts. If it is
    /// acknowledged after all, the timeout was too short.
    private var expired: (position: BatchPosition, confirmedAt: Int64, size: Double)?
    /// The time of the last reduction. Batches that were published before it do not show its effect yet.
    private var reducedAt: Int64 = 0
    /// The time at which the newest acknowledged batch was published.
    private var acknowledgedAt: Int64 = 0
    /// The time until which a window below 1 is closed.
    private var closedUntil: Int64 = 0
    /// The time of the last call of ``tick(at:)``.
    private var now: Int64 = 0

    /// Whether more backlog may be published.
    var isOpen: Bool { Double(backlogInFlight) < max(1, size) && now >= closedUntil }

    mutating func didPublish(_ position: BatchPosition, isBacklog: Bool, at boot: Int64) {
        remove(position)
        inFlight[position] = Published(at: boot, isBacklog: isBacklog)
        if isBacklog { backlogInFlight += 1 }
    }

    /// Handles the PUBACK of a batch.
    mutating func confirm(_ position: BatchPosition, at boot: Int64) { inFlight[position]?.confirmedAt = boot }

    /// Handles the acknowledgement of a collector.
    /// - Parameters:
    ///   - holdTime: the time before the acknowledgement that the newest batch did not spend in a queue, in µs, or nil if
    ///     unknown.
    mutating func acknowledge(_ stored: SequenceSet, holdTime: Int64?, of epoch: Epoch, at boot: Int64) {
        let arrived = inFlight.filter { $0.key.epoch == epoch && stored.contains($0.key.seq) }
        var confirmations = arrived.values.compactMap(\.confirmedAt)
        if let late = expired, late.position.epoch == epoch, stored.contains(late.position.seq) {
            confirmations.append(late.confirmedAt)
            size = max(size, late.size)
            closedUntil = 0
            expired = nil
        }
        if let first = confirmations.min() { roundTrip = boot - first }
        guard let newest = arrived.values.max(by: { $0.at < $1.at }) else { return }
        acknowledgedAt = max(acknowledgedAt, newest.at)
        let before = backlogInFlight
        for position in arrived.keys { remove(position) }
        let backlog = before - backlogInFlight
        // Live batches alone are no evidence for the size of the window.
        guard backlog > 0 else { return }
        // An acknowledgement that arrives before the PUBACK shows that the collector is fast.
        let delay = boot - (newest.confirmedAt ?? boot) - (holdTime ?? Self.defaultHoldTime)
        if delay > Self.highDelay {
            hasBeenLate = true
            if newest.at >= reducedAt {
                size = max(Self.minSize, size / 2)
                reducedAt = boot
            }
        } else if delay < Self.lowDelay, Double(2 * before) >= size {
            // Grow only if the window was in use: an unused window gives no evidence for a larger one (RFC 7661).
            size = min(Self.maxSize, hasBeenLate ? size * Self.growth : size + Double(backlog))
        }
        closedUntil = size < 1 ? boot + Int64((1 / size - 1) * Double(boot - newest.at)) : 0
    }

    /// Removes batches whose acknowledgement has timed out.
    mutating func tick(at boot: Int64) {
        now = boot
        let timeout = max(Self.minTimeout, 2 * roundTrip)
        let timedOut = inFlight.filter { entry in entry.value.confirmedAt.map { boot - $0 >= timeout } ?? false }
        guard let first = timedOut.min(by: { $0.value.at < $1.value.at }) else { return }
        if expired == nil { expired = first.value.confirmedAt.map { (first.key, $0, size) } }
        for position in timedOut.keys { remove(position) }
        let backlog = timedOut.values.filter(\.isBacklog)
        guard let newest = backlog.map(\.at).max() else { return }
        size = min(size, Self.initialSize)
        // If a later batch was acknowledged, the collector does not store these. Otherwise its queue may be longer than the
        // timeout. Without a collector, the size does not matter.
        if newest > acknowledgedAt { size = max(Self.minSize, size / 2) }
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
        expired = nil
        closedUntil = 0
    }
}
