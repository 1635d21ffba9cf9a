import LockstepModel

/// Batches that were sent in vain, to be tried again with a patience that doubles each time.
///
/// Only a few are tried at a time, in turn: what becomes of them tells of the others.
struct RetryBackoff: Sendable {
    /// The longest patience, in µs.
    let longest: Int64
    private(set) var waiting: [Epoch: SequenceSet] = [:]
    /// Sent again: under way, or held back anew.
    private var onTrial: [Epoch: SequenceSet] = [:]
    private var patience = Delivery.firstPatience
    /// µs of the boot clock.
    private var dueAt: Int64 = 0
    private var lastTried: BatchPosition?

    init(longest: Int64) { self.longest = longest }

    /// A batch was sent in vain.
    mutating func hold(_ position: BatchPosition, at boot: Int64) {
        if waiting.isEmpty, onTrial.isEmpty {
            patience = Delivery.firstPatience
            dueAt = boot + patience
        }
        onTrial.remove(position)
        waiting.insert(position)
    }

    /// Takes out the batches to try again, once patience has ended.
    mutating func takeDue(at boot: Int64) -> [BatchPosition] {
        guard !waiting.isEmpty, boot >= dueAt else { return [] }
        patience = min(patience * 2, longest)
        dueAt = boot + patience
        // In turn, so that some that never pass don't stand before others that would.
        var due = take(Delivery.probeCount, after: lastTried)
        due += take(Delivery.probeCount - due.count, after: nil)
        lastTried = due.last
        return due
    }

    private mutating func take(_ count: Int, after last: BatchPosition?) -> [BatchPosition] {
        var taken: [BatchPosition] = []
        for (epoch, batches) in waiting.sorted(by: { $0.key < $1.key }) {
            let first = last.map { epoch < $0.epoch ? .max : epoch == $0.epoch ? $0.seq + 1 : 1 } ?? 1
            let rest = batches.intersection(SequenceSet(CollectionOfOne(first...Int64.max)))
            taken += rest.lowest(count - taken.count).map { BatchPosition(epoch: epoch, seq: $0) }
        }
        for position in taken {
            waiting.remove(position)
            onTrial.insert(position)
        }
        return taken
    }

    /// Batches have come through.
    /// - Returns: where one of those on trial is among them, all others, which may go now.
    mutating func release(by passed: SequenceSet, of epoch: Epoch) -> [Epoch: SequenceSet] {
        let isProof = onTrial[epoch].map { !$0.intersection(passed).isEmpty } ?? false
        drop(passed, of: epoch)
        return isProof ? releaseAll() : [:]
    }

    /// Takes out all that wait.
    mutating func releaseAll() -> [Epoch: SequenceSet] {
        defer {
            waiting = [:]
            onTrial = [:]
        }
        return waiting
    }

    mutating func drop(_ batches: SequenceSet, of epoch: Epoch) {
        waiting.subtract(batches, of: epoch)
        onTrial.subtract(batches, of: epoch)
    }
}
