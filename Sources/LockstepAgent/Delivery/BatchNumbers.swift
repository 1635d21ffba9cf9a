import LockstepModel

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
