public import LockstepModel

/// Keeps track of every batch between the outbox and the collector's acknowledgement, and says what to send next.
///
/// A batch is *unsent* (backlog), *flying* (published, the broker has not confirmed), or *awaiting* (with the broker,
/// the collector has not acknowledged). It leaves when an acknowledgement names it stored.
///
/// A batch that awaits counts as lost, and is sent again, when an acknowledgement calls it missing although the
/// collector already has a batch that was published after the broker confirmed it: a broker hands messages on in their
/// order. Where nothing follows, the lowest ones are sent again after a patience, and show the rest by their own
/// acknowledgement; the patience doubles each time, so that a collector that is away is not buried under copies.
///
/// A batch that is lost so again and again is none that the collector can take, or not now: it is tried again with a
/// patience of its own, until it passes. What the broker refuses waits likewise: a broker that forbids this user to
/// publish would else be sent everything without end. Of both only a few are tried, until one passes.
///
/// A batch that is too large for the broker is *set aside* until the next connection, which may be to another.
public struct Delivery: Sendable {
    /// Messages of one agent under way that the broker has not confirmed.
    package static let maxInFlight = 100
    /// Of those, how many may be backlog: live batches never wait behind it.
    private static let mostFlyingBacklog = 40
    static let firstPatience: Int64 = 5_000_000
    static let longestPatience: Int64 = 300_000_000
    /// Of batches that were lost again and again: it may have been the broker that lost them, and few are tried.
    static let longestLossPatience: Int64 = 20_000_000
    /// How often a batch is sent again because what followed it is stored; from then on it waits with a patience.
    static let mostLosses = 3
    /// How many batches are sent again when patience ends.
    static let probeCount = 10

    /// Batches that the broker confirmed between two publications.
    private struct Bucket: Sendable {
        var batches: [Epoch: SequenceSet] = [:]
        /// The first batch published after these were confirmed; nil while there is none.
        var followedBy: BatchPosition?

        var isEmpty: Bool { batches.allSatisfy { $0.value.isEmpty } }
    }

    private var unsent: [Epoch: SequenceSet]
    private var tooLarge: [Epoch: SequenceSet] = [:]
    private var refused = RetryBackoff(longest: Delivery.longestPatience)
    private var neverStored = RetryBackoff(longest: Delivery.longestLossPatience)
    /// At index n, what was lost more than n times.
    private var losses: [[Epoch: SequenceSet]] = Array(repeating: [:], count: Delivery.mostLosses)
    private var flying: [Int32: BatchPosition] = [:]
    private var awaiting: [Bucket] = [Bucket()]
    private var window = InFlightWindow()
    private var patience = Delivery.firstPatience
    /// Boot time of the last progress: an acknowledgement, a connection, a probe.
    private var progressAt: Int64 = 0

    /// Whether a collector acknowledges, else the broker.
    private let waitsForCollector: Bool
    private var lastBacklogEpoch: Epoch?

    /// - Parameters:
    ///   - pending: what the outbox holds from earlier.
    ///   - waitsForCollector: whether a collector acknowledges, else the broker.
    public init(pending: [Epoch: SequenceSet], waitsForCollector: Bool = true) {
        unsent = pending.filter { !$0.value.isEmpty }
        self.waitsForCollector = waitsForCollector
    }

    /// How many messages the broker has not confirmed.
    public var inFlightCount: Int { flying.count }
    /// Whether every batch is acknowledged.
    public var isEmpty: Bool {
        unsent.isEmpty && tooLarge.isEmpty && refused.waiting.isEmpty && neverStored.waiting.isEmpty && flying.isEmpty
            && awaiting.allSatisfy(\.isEmpty)
    }
    public var hasBacklog: Bool { !unsent.isEmpty }
    /// Whether backlog may be sent now.
    public var canSendBacklog: Bool {
        hasBacklog && flying.count < Self.mostFlyingBacklog && (window.isOpen || !waitsForCollector)
    }
    public var unsentCount: Int64 { unsent.values.reduce(0) { $0 + $1.count } }

    /// A batch is in the outbox and can't be published now.
    public mutating func enqueue(_ position: BatchPosition) {
        window.remove(position)
        unsent.insert(position)
    }

    /// A batch is too large for the broker: it is not sent over this connection.
    public mutating func markTooLarge(_ position: BatchPosition) {
        unsent.remove(position)
        tooLarge.insert(position)
    }

    /// A live batch was handed to the broker as message `id`.
    /// - Parameter boot: when, where that is known.
    public mutating func didPublish(_ position: BatchPosition, as id: Int32, at boot: Int64? = nil) {
        if let boot, waitsForCollector { window.didPublish(position, isBacklog: false, at: boot) }
        note(position, flyingAs: id)
    }

    private mutating func note(_ position: BatchPosition, flyingAs id: Int32) {
        unsent.remove(position)
        flying[id] = position
        let newest = awaiting.count - 1
        guard !awaiting[newest].isEmpty else { return }
        awaiting[newest].followedBy = position
        awaiting.append(Bucket())
        if awaiting.count > 64 { mergeOldestBuckets() }
    }

    /// A batch of the backlog was handed to the broker as message `id`.
    public mutating func didPublishBacklog(_ position: BatchPosition, as id: Int32, at boot: Int64) {
        window.didPublish(position, isBacklog: true, at: boot)
        note(position, flyingAs: id)
        lastBacklogEpoch = position.epoch
    }

    /// The broker has confirmed message `id`.
    /// - Parameter boot: when, where that is known.
    /// - Returns: the batch, nil for a message that carried none.
    public mutating func didConfirm(_ id: Int32, at boot: Int64? = nil) -> BatchPosition? {
        guard let position = flying.removeValue(forKey: id) else { return nil }
        if let boot { window.confirm(position, at: boot) }
        awaiting[awaiting.count - 1].batches.insert(position)
        let one = SequenceSet(CollectionOfOne(position.seq...position.seq))
        unsent.formUnion(refused.release(by: one, of: position.epoch))
        return position
    }

    /// The broker has refused message `id`: its batch waits, to be tried again.
    public mutating func didRefuse(_ id: Int32, at boot: Int64) {
        guard let position = flying.removeValue(forKey: id) else { return }
        window.remove(position)
        refused.hold(position, at: boot)
    }

    /// A connection is up: patience starts anew.
    public mutating func didConnect(at boot: Int64) {
        progressAt = boot
        patience = Self.firstPatience
        unsent.formUnion(tooLarge)
        tooLarge = [:]
        unsent.formUnion(refused.releaseAll())
        // A broker that was away may have lost them; one that is back may not.
        unsent.formUnion(neverStored.releaseAll())
        losses = Array(repeating: [:], count: Self.mostLosses)
    }

    /// The connection is gone: what the broker had not confirmed waits again.
    public mutating func didDisconnect() {
        for position in flying.values { enqueue(position) }
        flying.removeAll()
        window.removeAll()
    }

    /// Takes in what a collector has stored and misses; to be followed by removing `ack.stored` from the outbox.
    public mutating func handle(_ ack: Acknowledgement, at boot: Int64) {
        let before = pendingCount(of: ack.epoch)
        let stored = ack.stored
        window.acknowledge(stored, held: ack.held, of: ack.epoch, at: boot)
        unsent.formUnion(neverStored.release(by: stored, of: ack.epoch))
        drop(stored, of: ack.epoch)
        flying = flying.filter { $0.value.epoch != ack.epoch || !stored.contains($0.value.seq) }
        if pendingCount(of: ack.epoch) < before {
            progressAt = boot
            patience = Self.firstPatience
        }
        requeueLost(ack, stored: stored, at: boot)
        awaiting = awaiting.dropLast().filter { !$0.isEmpty } + awaiting.suffix(1)
    }

    /// A batch has left the outbox for good.
    public mutating func forget(_ positions: [Epoch: SequenceSet]) {
        for (epoch, batches) in positions { drop(batches, of: epoch) }
    }

    /// Sends the lowest batches again when nothing has been acknowledged for long.
    public mutating func tick(at boot: Int64) {
        window.tick(at: boot)
        for position in refused.takeDue(at: boot) + neverStored.takeDue(at: boot) { enqueue(position) }
        guard !awaiting.allSatisfy(\.isEmpty) else {
            // Nobody is waited for.
            progressAt = boot
            return
        }
        guard boot - progressAt >= patience else { return }
        progressAt = boot
        patience = min(patience * 2, Self.longestPatience)
        var left = Self.probeCount
        for index in awaiting.indices {
            for (epoch, batches) in awaiting[index].batches.sorted(by: { $0.key < $1.key }) {
                for seq in batches.lowest(left) {
                    awaiting[index].batches[epoch]?.remove(seq)
                    enqueue(BatchPosition(epoch: epoch, seq: seq))
                    left -= 1
                }
            }
        }
    }

    /// The oldest batches of the backlog, `limit` at the most, of one epoch: each in turn, so that one that no collector
    /// takes does not hold up the others.
    public func nextBacklog(limit: Int) -> [BatchPosition] {
        let after = lastBacklogEpoch.flatMap { last in unsent.keys.filter { $0 > last }.min() }
        guard let epoch = after ?? unsent.keys.min(), let batches = unsent[epoch] else { return [] }
        return batches.lowest(limit).map { BatchPosition(epoch: epoch, seq: $0) }
    }

    private mutating func drop(_ batches: SequenceSet, of epoch: Epoch) {
        window.remove(batches, of: epoch)
        unsent.subtract(batches, of: epoch)
        tooLarge.subtract(batches, of: epoch)
        refused.drop(batches, of: epoch)
        neverStored.drop(batches, of: epoch)
        for index in losses.indices { losses[index].subtract(batches, of: epoch) }
        for index in awaiting.indices { awaiting[index].batches[epoch]?.subtract(batches) }
    }

    private func pendingCount(of epoch: Epoch) -> Int64 {
        let waiting = [unsent, tooLarge, refused.waiting, neverStored.waiting] + awaiting.map(\.batches)
        return waiting.reduce(0) { $0 + ($1[epoch]?.count ?? 0) }
            + Int64(flying.values.count { $0.epoch == epoch })
    }

    private mutating func requeueLost(_ ack: Acknowledgement, stored: SequenceSet, at boot: Int64) {
        // What came before a batch that is stored has had its turn, whether its own followers are stored or lost too.
        let newest = awaiting.lastIndex { bucket in
            bucket.followedBy.map { $0.epoch == ack.epoch && stored.contains($0.seq) } ?? false
        }
        guard let newest else { return }
        let missing = SequenceSet(ack.missing)
        for index in 0...newest {
            guard let lost = awaiting[index].batches[ack.epoch]?.intersection(missing), !lost.isEmpty else { continue }
            awaiting[index].batches[ack.epoch]?.subtract(lost)
            window.remove(lost, of: ack.epoch)
            let tooOften = countLoss(lost, of: ack.epoch)
            for range in tooOften.ranges {
                for seq in range { neverStored.hold(BatchPosition(epoch: ack.epoch, seq: seq), at: boot) }
            }
            unsent.formUnion([ack.epoch: lost.subtracting(tooOften)])
        }
    }

    /// - Returns: those that were lost too often.
    private mutating func countLoss(_ lost: SequenceSet, of epoch: Epoch) -> SequenceSet {
        var again = lost
        for index in losses.indices where !again.isEmpty {
            let known = losses[index][epoch] ?? SequenceSet()
            losses[index].formUnion([epoch: again])
            again = again.intersection(known)
        }
        return again
    }

    private mutating func mergeOldestBuckets() {
        // The later of the two marks is the safe one.
        let oldest = awaiting.removeFirst()
        awaiting[0].batches.formUnion(oldest.batches)
    }
}

extension SequenceSet {
    /// The `count` lowest numbers.
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
