public import LockstepMQTT
public import LockstepModel

/// Tracks every batch from the outbox to the collector's acknowledgement, and decides what to send next.
///
/// The states of a batch:
/// - *unsent*: backlog.
/// - *in flight*: published; the broker has not sent the PUBACK yet.
/// - *awaiting*: the broker has sent the PUBACK; the collector has not acknowledged the batch yet.
/// - *refused* by the broker, or *never stored* by the collector: retried with backoff. See `RetryBackoff`.
/// - *too large* for the broker: excluded until the next connection, which may be to another broker.
///
/// A batch is removed when an acknowledgement lists it as stored.
///
/// A broker delivers messages in order. An awaiting batch therefore counts as lost if an acknowledgement lists it as
/// missing, but lists as stored a batch that was published after the PUBACK of the missing one. Lost batches are sent
/// again. If no later batch was published, a few awaiting batches are sent again after a delay: the lowest ones, and the
/// highest one of each epoch, because an acknowledgement lists missing batches only up to the highest stored one. Their
/// acknowledgement shows which others are lost. The delay doubles each time, so that a collector does not receive many
/// copies after an outage.
///
/// A batch that is lost repeatedly is retried with backoff, because the collector cannot store it for now. A batch that
/// the broker refuses is also retried with backoff: a broker that does not allow this user to publish would otherwise
/// receive every batch continuously.
///
/// All times are in µs of the boot clock.
public struct DeviceDelivery: Sendable {
    /// The maximum number of messages in flight of one agent. A ``LinkWindow`` leaves room for live batches.
    package static let maxInFlight = LinkWindow.maxMessages + 100
    /// The first delay before batches are sent again, in µs.
    static let initialRetryDelay: Int64 = 5_000_000
    /// The maximum retry delay, in µs.
    static let maxRetryDelay: Int64 = 300_000_000
    /// The maximum retry delay of batches that are lost repeatedly, in µs. It is shorter than `maxRetryDelay`, because
    /// the broker may have lost the batches, and because only a few batches are retried at a time.
    static let maxLossRetryDelay: Int64 = 20_000_000
    /// The number of losses up to which a batch is sent again at once. After further losses it is retried with backoff.
    static let maxLosses = 3
    /// The maximum number of batches that are retried at a time.
    static let probeCount = 10

    /// The batches whose PUBACK arrived between two consecutive publications.
    private struct Bucket: Sendable {
        var batches: [Epoch: SequenceSet] = [:]
        /// The first batch published after these PUBACKs, or nil if there is none yet.
        var followedBy: BatchPosition?

        var isEmpty: Bool { batches.allSatisfy { $0.value.isEmpty } }
    }

    private var unsent: [Epoch: SequenceSet]
    private var tooLarge: [Epoch: SequenceSet] = [:]
    private var refused = RetryBackoff(maxDelay: DeviceDelivery.maxRetryDelay)
    private var neverStored = RetryBackoff(maxDelay: DeviceDelivery.maxLossRetryDelay)
    /// At index n, the batches that were lost more than n times.
    private var losses: [[Epoch: SequenceSet]] = Array(repeating: [:], count: DeviceDelivery.maxLosses)
    private var inFlight: [Int32: BatchPosition] = [:]
    private var awaiting: [Bucket] = [Bucket()]
    private var window = InFlightWindow()
    private var retryDelay = DeviceDelivery.initialRetryDelay
    /// The time of the last acknowledgement, connection or retry, or of the first PUBACK after all was acknowledged, in µs of
    /// the boot clock.
    private var progressAt: Int64 = 0
    /// The time since which batches wait for a collector without progress, in µs of the boot clock: that of the first PUBACK
    /// since the last progress; nil if none wait.
    package private(set) var waitingSince: Int64?

    /// Whether the collector acknowledges batches; otherwise the broker does.
    private let waitsForCollector: Bool
    private var lastBacklogEpoch: Epoch?

    /// Creates a delivery whose backlog is the content of the outbox.
    /// - Parameters:
    ///   - pending: the batches in the outbox.
    ///   - waitsForCollector: whether the collector acknowledges batches; otherwise the broker does.
    public init(pending: [Epoch: SequenceSet], waitsForCollector: Bool = true) {
        unsent = pending.filter { !$0.value.isEmpty }
        self.waitsForCollector = waitsForCollector
    }

    /// The number of messages without a PUBACK.
    public var inFlightCount: Int { inFlight.count }
    /// Whether every batch is acknowledged.
    public var isEmpty: Bool {
        unsent.isEmpty && tooLarge.isEmpty && refused.waiting.isEmpty && neverStored.waiting.isEmpty && inFlight.isEmpty
            && awaiting.allSatisfy(\.isEmpty)
    }
    /// Whether there are unsent batches.
    public var hasBacklog: Bool { !unsent.isEmpty }
    /// Whether a batch of the backlog may be published now, if the link has room for it, see ``LinkWindow``.
    public var canSendBacklog: Bool { hasBacklog && (window.isOpen || !waitsForCollector) }
    /// Returns whether a batch was lost more than once since the connection began, or is retried after a refusal.
    func hasFailed(_ position: BatchPosition) -> Bool {
        [losses[1], refused.retrying].contains { $0[position.epoch]?.contains(position.seq) ?? false }
    }
    /// Returns whether a batch waits for its acknowledgement.
    package func contains(_ position: BatchPosition) -> Bool {
        ([unsent, tooLarge, refused.waiting, neverStored.waiting] + awaiting.map(\.batches)).contains {
            $0[position.epoch]?.contains(position.seq) ?? false
        } || inFlight.values.contains(position)
    }

    /// Returns which of the batches that an acknowledgement lists as missing are not here any more.
    package func gone(of ack: Acknowledgement) -> SequenceSet {
        ack.missing.isEmpty ? SequenceSet() : SequenceSet(ack.missing).subtracting(pending(of: ack.epoch))
    }

    /// Returns the batches of an epoch that wait for their acknowledgement.
    package func pending(of epoch: Epoch) -> SequenceSet {
        var pending = SequenceSet()
        for waiting in [unsent, tooLarge, refused.waiting, neverStored.waiting] + awaiting.map(\.batches) {
            if let batches = waiting[epoch] { pending.formUnion(batches) }
        }
        for position in inFlight.values where position.epoch == epoch { pending.insert(position.seq) }
        return pending
    }

    /// The number of unsent batches.
    public var unsentCount: Int64 { unsent.values.reduce(0) { $0 + $1.count } }

    /// Adds a batch of the outbox to the backlog.
    public mutating func enqueue(_ position: BatchPosition) {
        window.remove(position)
        unsent.insert(position)
    }

    /// Excludes a batch that is too large for the broker until the next connection.
    public mutating func markTooLarge(_ position: BatchPosition) {
        unsent.remove(position)
        tooLarge.insert(position)
    }

    /// Records that a live batch was published as message `id`.
    /// - Parameter boot: the current time in µs of the boot clock, if known.
    public mutating func didPublish(
        _ position: BatchPosition, as id: Int32, qos: QualityOfService = .atLeastOnce, at boot: Int64? = nil
    ) {
        if let boot, waitsForCollector { window.didPublish(position, isBacklog: false, at: boot) }
        didPublish(position, inFlightAs: id, qos: qos)
    }

    private mutating func didPublish(_ position: BatchPosition, inFlightAs id: Int32, qos: QualityOfService) {
        unsent.remove(position)
        inFlight[id] = position
        let newest = awaiting.count - 1
        // A broker may deliver a message with QoS 0 before one with QoS 1 that waits in its queue.
        guard qos == .atLeastOnce, !awaiting[newest].isEmpty else { return }
        awaiting[newest].followedBy = position
        awaiting.append(Bucket())
        if awaiting.count > 64 { mergeOldestBuckets() }
    }

    /// Records that a batch of the backlog was published as message `id`.
    public mutating func didPublishBacklog(
        _ position: BatchPosition, as id: Int32, qos: QualityOfService = .atLeastOnce, at boot: Int64
    ) {
        window.didPublish(position, isBacklog: true, at: boot)
        didPublish(position, inFlightAs: id, qos: qos)
        lastBacklogEpoch = position.epoch
    }

    /// Handles the PUBACK of message `id`.
    /// - Parameter boot: the current time in µs of the boot clock, if known.
    /// - Returns: the batch, or nil if the message was not a batch.
    public mutating func didReceivePuback(_ id: Int32, at boot: Int64? = nil) -> BatchPosition? {
        guard let position = inFlight.removeValue(forKey: id) else { return nil }
        if let boot {
            window.confirm(position, at: boot)
            // Nothing awaited an acknowledgement, perhaps for long: the retry delay starts now.
            if awaiting.allSatisfy(\.isEmpty) { progressAt = boot }
        }
        if waitsForCollector { waitingSince = waitingSince ?? boot }
        awaiting[awaiting.count - 1].batches.insert(position)
        let confirmed = SequenceSet(CollectionOfOne(position.seq...position.seq))
        // If a retry of a refused batch succeeds, the broker accepts the other refused batches, too.
        unsent.formUnion(refused.release(by: confirmed, of: position.epoch))
        return position
    }

    /// Handles a refusal of message `id` by the broker: its batch is retried with backoff.
    public mutating func didRefuse(_ id: Int32, at boot: Int64) {
        guard let position = inFlight.removeValue(forKey: id) else { return }
        window.remove(position)
        refused.add(position, at: boot)
    }

    /// Handles a new connection: resets all delays, and releases excluded and failed batches.
    public mutating func didConnect(at boot: Int64) {
        progressAt = boot
        waitingSince = nil
        retryDelay = Self.initialRetryDelay
        unsent.formUnion(tooLarge)
        tooLarge = [:]
        unsent.formUnion(refused.releaseAll())
        // Another broker, or a restarted one, may deliver them now.
        unsent.formUnion(neverStored.releaseAll())
        losses = Array(repeating: [:], count: Self.maxLosses)
    }

    /// Handles a lost connection: batches in flight move to the backlog.
    public mutating func didDisconnect() {
        for position in inFlight.values { enqueue(position) }
        inFlight.removeAll()
        window.removeAll()
    }

    /// Handles an acknowledgement of the collector. The caller removes `ack.stored` from the outbox.
    public mutating func handle(_ ack: Acknowledgement, at boot: Int64) {
        let before = pendingCount(of: ack.epoch)
        let stored = ack.stored
        window.acknowledge(stored, holdTime: ack.holdTime, of: ack.epoch, at: boot)
        unsent.formUnion(neverStored.release(by: stored, of: ack.epoch))
        remove(stored, of: ack.epoch)
        inFlight = inFlight.filter { $0.value.epoch != ack.epoch || !stored.contains($0.value.seq) }
        if pendingCount(of: ack.epoch) < before {
            progressAt = boot
            waitingSince = nil
            retryDelay = Self.initialRetryDelay
        }
        requeueLost(ack, stored: stored, at: boot)
        awaiting = awaiting.dropLast().filter { !$0.isEmpty } + awaiting.suffix(1)
    }

    /// Removes batches that are no longer in the outbox.
    public mutating func forget(_ batchesByEpoch: [Epoch: SequenceSet]) {
        for (epoch, batches) in batchesByEpoch { remove(batches, of: epoch) }
    }

    /// Moves the batches whose retry delay has passed to the backlog.
    public mutating func tick(at boot: Int64) {
        window.tick(at: boot)
        if waitingSince != nil, isEmpty { waitingSince = nil }
        for position in refused.takeReady(at: boot) + neverStored.takeReady(at: boot) { enqueue(position) }
        guard !awaiting.allSatisfy(\.isEmpty) else {
            // Nothing awaits an acknowledgement: the delay starts with the next batch.
            progressAt = boot
            return
        }
        guard boot - progressAt >= retryDelay else { return }
        progressAt = boot
        retryDelay = min(retryDelay * 2, Self.maxRetryDelay)
        var remaining = Self.probeCount
        for position in highestAwaiting {
            for index in awaiting.indices { awaiting[index].batches.remove(position) }
            enqueue(position)
        }
        for index in awaiting.indices {
            for (epoch, batches) in awaiting[index].batches.sorted(by: { $0.key < $1.key }) {
                for seq in batches.lowest(remaining) {
                    awaiting[index].batches[epoch]?.remove(seq)
                    enqueue(BatchPosition(epoch: epoch, seq: seq))
                    remaining -= 1
                }
            }
        }
    }

    /// The next batch of the backlog, or nil if there is none. It is the oldest of its epoch. Epochs take turns, so
    /// that an epoch that no collector stores does not block the others.
    public var nextBacklogBatch: BatchPosition? {
        guard let epoch = nextEpoch, let seq = unsent[epoch]?.first else { return nil }
        return BatchPosition(epoch: epoch, seq: seq)
    }

    /// Returns the oldest batches of the backlog, at most `limit`, of the epoch whose turn it is.
    public func nextBacklog(limit: Int) -> [BatchPosition] {
        guard let epoch = nextEpoch, let batches = unsent[epoch] else { return [] }
        return batches.lowest(limit).map { BatchPosition(epoch: epoch, seq: $0) }
    }

    private var nextEpoch: Epoch? {
        guard let last = lastBacklogEpoch else { return unsent.keys.min() }
        return unsent.keys.lazy.filter { $0 > last }.min() ?? unsent.keys.min()
    }

    private mutating func remove(_ batches: SequenceSet, of epoch: Epoch) {
        window.remove(batches, of: epoch)
        unsent.subtract(batches, of: epoch)
        tooLarge.subtract(batches, of: epoch)
        refused.remove(batches, of: epoch)
        neverStored.remove(batches, of: epoch)
        for index in losses.indices { losses[index].subtract(batches, of: epoch) }
        for index in awaiting.indices { awaiting[index].batches[epoch]?.subtract(batches) }
    }

    private func pendingCount(of epoch: Epoch) -> Int64 {
        let waiting = [unsent, tooLarge, refused.waiting, neverStored.waiting] + awaiting.map(\.batches)
        return waiting.reduce(0) { $0 + ($1[epoch]?.count ?? 0) }
            + Int64(inFlight.values.count { $0.epoch == epoch })
    }

    /// The highest awaiting batch of each epoch.
    private var highestAwaiting: [BatchPosition] {
        var highest: [Epoch: Int64] = [:]
        for (epoch, batches) in awaiting.flatMap(\.batches) {
            if let last = batches.last { highest[epoch] = max(last, highest[epoch] ?? last) }
        }
        return highest.map { BatchPosition(epoch: $0.key, seq: $0.value) }
    }

    private mutating func requeueLost(_ ack: Acknowledgement, stored: SequenceSet, at boot: Int64) {
        // Batches before the newest stored follower have been delivered or lost, even if their own followers are
        // missing.
        let newest = awaiting.lastIndex { bucket in
            bucket.followedBy.map { $0.epoch == ack.epoch && stored.contains($0.seq) } ?? false
        }
        guard let newest else { return }
        let missing = SequenceSet(ack.missing)
        for index in 0...newest {
            guard let lost = awaiting[index].batches[ack.epoch]?.intersection(missing), !lost.isEmpty else { continue }
            awaiting[index].batches[ack.epoch]?.subtract(lost)
            window.remove(lost, of: ack.epoch)
            let repeatedlyLost = countLoss(lost, of: ack.epoch)
            for range in repeatedlyLost.ranges {
                for seq in range { neverStored.add(BatchPosition(epoch: ack.epoch, seq: seq), at: boot) }
            }
            unsent.formUnion([ack.epoch: lost.subtracting(repeatedlyLost)])
        }
    }

    /// Counts a loss of each batch.
    /// - Returns: the batches that were lost more than ``maxLosses`` times.
    private mutating func countLoss(_ lost: SequenceSet, of epoch: Epoch) -> SequenceSet {
        var repeated = lost
        for index in losses.indices where !repeated.isEmpty {
            let known = losses[index][epoch] ?? SequenceSet()
            losses[index].formUnion([epoch: repeated])
            repeated = repeated.intersection(known)
        }
        return repeated
    }

    private mutating func mergeOldestBuckets() {
        // Keep the later follower, so that no batch counts as lost too early.
        let oldest = awaiting.removeFirst()
        awaiting[0].batches.formUnion(oldest.batches)
    }
}

extension SequenceSet {
    func lowest(_ count: Int) -> [Int64] {
        var result: [Int64] = []
        for range in ranges {
            for number in range {
                guard result.count < count else { return result }
                result.append(number)
            }
        }
        return result
    }
}

/// Batch numbers by epoch. An epoch without batches has no entry.
extension [Epoch: SequenceSet] {
    mutating func insert(_ position: BatchPosition) {
        self[position.epoch, default: SequenceSet()].insert(position.seq)
    }

    mutating func remove(_ position: BatchPosition) {
        subtract(SequenceSet(CollectionOfOne(position.seq...position.seq)), of: position.epoch)
    }

    mutating func subtract(_ batches: SequenceSet, of epoch: Epoch) {
        self[epoch]?.subtract(batches)
        if self[epoch]?.isEmpty == true { self[epoch] = nil }
    }

    mutating func formUnion(_ other: [Epoch: SequenceSet]) {
        for (epoch, batches) in other where !batches.isEmpty { self[epoch, default: SequenceSet()].formUnion(batches) }
    }
}

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
