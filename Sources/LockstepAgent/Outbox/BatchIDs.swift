import LockstepModel

/// Maps the numbers of batches to the ids of their rows.
///
/// The id of a batch is the base of its epoch plus its `seq`. So the ids are in the order of acceptance, and neither
/// epoch nor `seq` needs a column or an index. The base of an epoch is the highest id of the epochs before it.
struct BatchIDs {
    private struct Start {
        let base: Int64
        let epoch: Epoch
    }

    /// In ascending order of the bases.
    private var starts: [Start] = []

    /// Adds an epoch, whose base must not be lower than that of any other epoch. It replaces an epoch with the same
    /// base, which has no batches.
    mutating func begin(_ epoch: Epoch, base: Int64) {
        if starts.last?.base == base { starts.removeLast() }
        starts.append(Start(base: base, epoch: epoch))
    }

    /// Returns the base of an epoch, or nil for an unknown epoch.
    func base(of epoch: Epoch) -> Int64? { starts.last { $0.epoch == epoch }?.base }

    /// Returns the id of a batch, or nil if its epoch is unknown or its number is out of range.
    func id(of position: BatchPosition) -> Int64? {
        ids(of: [position.epoch: SequenceSet([position.seq...position.seq])]).first
    }

    /// Returns the position of the batch with the given id, or nil if no epoch has it.
    func position(of id: Int64) -> BatchPosition? {
        starts.last { $0.base < id }.map { BatchPosition(epoch: $0.epoch, seq: id - $0.base) }
    }

    /// Returns the ids of batches. Unknown epochs and numbers out of range are ignored.
    func ids(of batches: [Epoch: SequenceSet]) -> SequenceSet {
        var result = SequenceSet()
        for (index, start) in starts.enumerated() {
            guard let numbers = batches[start.epoch] else { continue }
            let highest = highestID(at: index) - start.base
            for range in numbers.ranges where range.upperBound >= 1 && range.lowerBound <= highest {
                result.insert(start.base + max(1, range.lowerBound)...start.base + min(range.upperBound, highest))
            }
        }
        return result
    }

    /// Returns the numbers of the batches with the given ids.
    func numbers(of ids: SequenceSet) -> [Epoch: SequenceSet] {
        var result: [Epoch: SequenceSet] = [:]
        for (index, start) in starts.enumerated() {
            let highest = highestID(at: index)
            for range in ids.ranges where range.upperBound > start.base && range.lowerBound <= highest {
                let lower = max(range.lowerBound - start.base, 1)
                result[start.epoch, default: SequenceSet()].insert(lower...min(range.upperBound, highest) - start.base)
            }
        }
        return result
    }

    private func highestID(at index: Int) -> Int64 { index + 1 < starts.count ? starts[index + 1].base : .max }
}
