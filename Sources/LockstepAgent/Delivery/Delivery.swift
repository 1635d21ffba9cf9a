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
public struct Delivery: Sendable {
    static let firstPatience: Int64 = 5_000_000
    static let longestPatience: Int64 = 300_000_000
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
    private var flying: [Int32: BatchPosition] = [:]
    private var awaiting: [Bucket] = [Bucket()]
    private var patience = Delivery.firstPatience
    /// Boot time of the last progress: an acknowledgement, a connection, a probe.
    private var progressAt: Int64 = 0

    /// - Parameter pending: what the outbox holds from earlier.
    public init(pending: [Epoch: SequenceSet]) { unsent = pending.filter { !$0.value.isEmpty } }

    /// How many messages the broker has not confirmed.
    public var flyingCount: Int { flying.count }
    /// Whether every batch is acknowledged.
    public var isEmpty: Bool {
        unsent.isEmpty && flying.isEmpty && awaiting.allSatisfy(\.isEmpty)
    }
    public var hasBacklog: Bool { !unsent.isEmpty }
    public var unsentCount: Int64 { unsent.values.reduce(0) { $0 + $1.count } }

    /// A batch is in the outbox and can't be published now.
    public mutating func enqueue(_ position: BatchPosition) {
        unsent[position.epoch, default: SequenceSet()].insert(position.seq)
    }

    /// A batch was handed to the broker as message `id`.
    public mutating func didPublish(_ position: BatchPosition, as id: Int32) {
        unsent[position.epoch]?.remove(position.seq)
        if unsent[position.epoch]?.isEmpty == true { unsent[position.epoch] = nil }
        flying[id] = position
        let newest = awaiting.count - 1
        guard !awaiting[newest].isEmpty else { return }
        awaiting[newest].followedBy = position
        awaiting.append(Bucket())
        if awaiting.count > 64 { mergeOldestBuckets() }
    }

    /// The broker has confirmed message `id`.
    /// - Returns: the batch, nil for a message that carried none.
    public mutating func didConfirm(_ id: Int32) -> BatchPosition? {
        guard let position = flying.removeValue(forKey: id) else { return nil }
        awaiting[awaiting.count - 1].batches[position.epoch, default: SequenceSet()].insert(position.seq)
        return position
    }

    /// The broker has refused message `id`: its batch waits again.
    public mutating func didRefuse(_ id: Int32) {
        guard let position = flying.removeValue(forKey: id) else { return }
        enqueue(position)
    }

    /// A connection is up: patience starts anew.
    public mutating func didConnect(at boot: Int64) {
        progressAt = boot
        patience = Self.firstPatience
    }

    /// The connection is gone: what the broker had not confirmed waits again.
    public mutating func didDisconnect() {
        for position in flying.values { enqueue(position) }
        flying.removeAll()
    }

    /// Takes in what a collector has stored and misses; to be followed by removing `ack.stored` from the outbox.
    public mutating func handle(_ ack: Acknowledgement, at boot: Int64) {
        let before = pendingCount(of: ack.epoch)
        let stored = ack.stored
        unsent[ack.epoch]?.subtract(stored)
        if unsent[ack.epoch]?.isEmpty == true { unsent[ack.epoch] = nil }
        for index in awaiting.indices { awaiting[index].batches[ack.epoch]?.subtract(stored) }
        flying = flying.filter { $0.value.epoch != ack.epoch || !stored.contains($0.value.seq) }
        if pendingCount(of: ack.epoch) < before {
            progressAt = boot
            patience = Self.firstPatience
        }
        requeueLost(ack, stored: stored)
        awaiting = awaiting.dropLast().filter { !$0.isEmpty } + awaiting.suffix(1)
    }

    /// A batch has left the outbox for good.
    public mutating func forget(_ positions: [Epoch: SequenceSet]) {
        for (epoch, batches) in positions {
            unsent[epoch]?.subtract(batches)
            if unsent[epoch]?.isEmpty == true { unsent[epoch] = nil }
            for index in awaiting.indices { awaiting[index].batches[epoch]?.subtract(batches) }
        }
    }

    /// Sends the lowest batches again when nothing has been acknowledged for long.
    public mutating func tick(at boot: Int64) {
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

    /// The oldest batches of the backlog, `limit` at the most, of one epoch.
    public func nextBacklog(limit: Int) -> [BatchPosition] {
        guard let (epoch, batches) = unsent.min(by: { $0.key < $1.key }) else { return [] }
        return batches.lowest(limit).map { BatchPosition(epoch: epoch, seq: $0) }
    }

    private func pendingCount(of epoch: Epoch) -> Int64 {
        awaiting.reduce(unsent[epoch]?.count ?? 0) { $0 + ($1.batches[epoch]?.count ?? 0) }
            + Int64(flying.values.count { $0.epoch == epoch })
    }

    private mutating func requeueLost(_ ack: Acknowledgement, stored: SequenceSet) {
        // What came before a batch that is stored has had its turn, whether its own followers are stored or lost too.
        let newest = awaiting.lastIndex { bucket in
            bucket.followedBy.map { $0.epoch == ack.epoch && stored.contains($0.seq) } ?? false
        }
        guard let newest else { return }
        let missing = SequenceSet(ack.missing)
        for index in 0...newest {
            guard let lost = awaiting[index].batches[ack.epoch]?.intersection(missing), !lost.isEmpty else { continue }
            awaiting[index].batches[ack.epoch]?.subtract(lost)
            unsent[ack.epoch, default: SequenceSet()].formUnion(lost)
        }
    }

    private mutating func mergeOldestBuckets() {
        // The later of the two marks is the safe one.
        let oldest = awaiting.removeFirst()
        for (epoch, batches) in oldest.batches { awaiting[0].batches[epoch, default: SequenceSet()].formUnion(batches) }
    }
}

extension SequenceSet {
    /// The `count` lowest numbers.
    fileprivate func lowest(_ count: Int) -> [Int64] {
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
