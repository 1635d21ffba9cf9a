import LockstepModel

/// The changes of a device in a transaction that the samples in the log do not show.
struct LedgerChange {
    /// The number of samples written to tables directly.
    var samples: Int64 = 0
    var duplicates: Int64 = 0
    var conflicts: Int64 = 0
    /// The time of the last message that no row of the log shows, in µs since 1970.
    var lastSeen: Int64?
    /// The time of the newest sample written to a table directly, in µs since 1970.
    var newest: Int64?
    /// The batch numbers that no row of the log shows.
    var batches: [Epoch: SequenceSet] = [:]

    mutating func recordMessage(at time: Int64) { lastSeen = max(lastSeen ?? time, time) }

    mutating func insert(_ number: Int64, of epoch: Epoch) {
        batches[epoch, default: SequenceSet()].insert(number)
    }

    var isEmpty: Bool {
        samples == 0 && duplicates == 0 && conflicts == 0 && lastSeen == nil && newest == nil && batches.isEmpty
    }

    /// Records a run that was written to its table directly.
    mutating func recordAll(_ run: SampleRun, _ counts: IngestResult.Counts) {
        samples += Int64(counts.stored)
        duplicates += Int64(counts.duplicates)
        conflicts += Int64(counts.conflicts)
        if let last = run.samples.times.max() { newest = max(newest ?? last, last) }
        var numbers: (epoch: Epoch, set: SequenceSet)?
        for batch in run.batches {
            recordMessage(at: batch.receivedAt.microseconds)
            guard let position = batch.validPosition else { continue }
            if let open = numbers, open.epoch != position.epoch {
                batches[open.epoch, default: SequenceSet()].formUnion(open.set)
                numbers = nil
            }
            if numbers == nil { numbers = (position.epoch, SequenceSet()) }
            numbers?.set.insert(position.seq)
        }
        if let numbers {
            batches[numbers.epoch, default: SequenceSet()].formUnion(numbers.set)
        }
    }
}

extension LogIndex.Device {
    /// Adds a change that the log contains.
    mutating func add(_ change: LedgerChange) {
        figures.samples += change.samples
        figures.duplicates += change.duplicates
        figures.conflicts += change.conflicts
        if let seen = change.lastSeen { figures.recordMessage(at: seen) }
        if let newest = change.newest { figures.recordSample(at: newest) }
    }
}
