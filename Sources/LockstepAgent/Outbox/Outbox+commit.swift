public import LockstepModel
import LockstepSQLite
import LockstepWire

/// Writing and removing batches.
extension Outbox {
    /// The state after a transaction. It takes effect when the transaction is on disk.
    struct Change {
        var contents: OutboxContents
        /// The size of all payloads in bytes.
        var bytes: Int64
        /// The highest id given.
        var lastID: Int64
        /// The time of the newest sample of each stream, in µs since 1970.
        var newest: [String: Int64]
        var dropped = Dropped()
    }

    /// The maximum length of the text that records the unpublished batches in a row.
    private static let maxRecordedLength = 200

    /// Numbers, encodes and writes new batches, and removes acknowledged ones, in one durable transaction.
    ///
    /// The rows of removed batches are deleted later, many at a time. Without new batches they are deleted at once.
    /// - Parameters:
    ///   - blocks: the samples of the new batches, one block for each batch.
    ///   - removed: the acknowledged batches.
    ///   - boot: the current time in µs of the boot clock.
    /// - Returns: the batches that were written, and those dropped because of the limits.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func commit(
        appending blocks: [SampleBlock], removing removed: [Epoch: SequenceSet] = [:], at boot: Int64
    ) throws -> (entries: [Entry], dropped: Dropped) {
        let entries = blocks.enumerated().map { index, block in
            let position = BatchPosition(epoch: epoch, seq: nextSeq + Int64(index))
            let payload = encoding.encode(Batch(position: position, samples: block))
            return Entry(position: position, stream: block.stream, payload: payload)
        }
        var change = unchanged
        do {
            try restoreFile()
            let acknowledged = contents.pending.intersection(ids.ids(of: removed))
            let freed = try statements.size(of: acknowledged)
            change.contents.acknowledge(acknowledged, bytes: freed, at: boot)
            change.bytes -= freed
            try database.transaction {
                try insert(entries, samples: blocks, into: &change, at: boot)
                try drop(above: limits.bytes, from: &change, at: boot)
                let hasDropped = !change.dropped.batches.isEmpty
                if hasDropped || blocks.isEmpty || change.contents.isDeletionDue(at: boot) {
                    // If the newest batch was dropped, no row records which batches are acknowledged.
                    try deleteAcknowledged(from: &change, limit: hasDropped ? .max : OutboxStatements.maxDeletions)
                }
                if blocks.isEmpty, unpublished.isUnsaved { try saveState(change) }
            }
        } catch {
            throw OutboxError(path: path, error)
        }
        nextSeq += Int64(entries.count)
        unpublished.didSave()
        for entry in entries { unpublished.batches.insert(entry.position.seq) }
        apply(change)
        let dropped = change.dropped
        return (entries.filter { dropped.batches[$0.position.epoch]?.contains($0.position.seq) != true }, dropped)
    }

    /// Drops the oldest batches until at most `limit` bytes are left, and removes them from the journal, too.
    func shrink(to limit: Int64, at boot: Int64) throws -> Dropped {
        var change = unchanged
        try database.transaction { try drop(above: limit, from: &change, keepsJournal: false, at: boot) }
        apply(change)
        return change.dropped
    }

    /// Deletes the rows of all acknowledged batches, in transactions that need little space in the write-ahead log.
    func deleteAllAcknowledged() throws {
        while !contents.acknowledged.isEmpty {
            var change = unchanged
            try database.transaction { try deleteAcknowledged(from: &change) }
            apply(change)
            checkpoint()
        }
    }

    /// Deletes the rows of acknowledged batches, except for those of the journal.
    func deleteAcknowledged(from change: inout Change, limit: Int64 = OutboxStatements.maxDeletions) throws {
        guard !change.contents.acknowledged.isEmpty else { return }
        if try statements.deleteAcknowledged(change.contents.acknowledged, limit: limit) {
            change.contents.didDelete(keepingJournal: hasJournal, last: change.lastID)
            if hasJournal { try statements.setJournaled(change.contents.journaled) }
        }
        // The newest row, which recorded the state, may be among the deleted ones.
        try saveState(change)
    }

    /// The state before a transaction.
    var unchanged: Change { Change(contents: contents, bytes: bytes, lastID: lastID, newest: newest) }

    /// Updates the state after a transaction.
    func apply(_ change: Change) {
        contents = change.contents
        bytes = change.bytes
        newest = change.newest
        droppedSamples += change.dropped.samples
        unpublished.batches.subtract(change.dropped.batches[epoch] ?? SequenceSet())
    }

    private func insert(_ entries: [Entry], samples: [SampleBlock], into change: inout Change, at boot: Int64) throws {
        guard !entries.isEmpty else { return }
        let first = change.lastID + 1
        let last = change.lastID + Int64(entries.count)
        var state = OutboxStatements.State(
            watermark: change.contents.watermark(last: change.lastID), unpublished: unpublished.toSave)
        if OutboxStatements.text(unpublished.toSave).utf8.count > Self.maxRecordedLength {
            try statements.setUnpublished(unpublished.toSave, last: last)
            state.unpublished = nil
        }
        for (index, entry) in entries.enumerated() {
            let id = first + Int64(index)
            try statements.insert(
                entry, id: id, samples: samples[index], journal: keepsJournal, state: id == last ? state : nil, at: boot
            )
            change.bytes += Int64(entry.payload.count)
            if let time = samples[index].times.last {
                change.newest[entry.stream.name] = max(time, change.newest[entry.stream.name] ?? time)
            }
        }
        change.contents.append(first...last)
        change.lastID = last
    }

    /// Drops the oldest batches above the limits.
    /// - Parameter keepsJournal: whether to keep their rows in the journal.
    private func drop(
        above limit: Int64, from change: inout Change, keepsJournal: Bool = true, at boot: Int64
    ) throws {
        while let id = change.contents.pending.first, let position = ids.position(of: id) {
            guard let row = try statements.row(id) else {
                change.contents.drop(id, keepsRow: false)
                continue
            }
            guard change.bytes > limit || isTooOld(row, at: boot) else { break }
            let isKept = try statements.drop(id, at: position, keepsJournal: keepsJournal)
            change.contents.drop(id, keepsRow: isKept)
            if change.bytes <= limit { change.dropped.agedSamples += row.samples }
            change.bytes -= row.bytes
            change.dropped.batches[position.epoch, default: SequenceSet()].insert(position.seq)
            change.dropped.samples += row.samples
        }
        guard !change.dropped.batches.isEmpty else { return }
        if hasJournal { try statements.setJournaled(change.contents.journaled) }
        try statements.setMeta("dropped_samples", droppedSamples + change.dropped.samples)
        try saveState(change)
    }

    private func isTooOld(_ row: OutboxStatements.Row, at boot: Int64) -> Bool {
        row.id > lastUndatedID && boot - row.boot > limits.age
    }

    /// Saves the state that the newest row records otherwise.
    private func saveState(_ change: Change) throws {
        try statements.setMeta("seq", change.lastID - (ids.base(of: epoch) ?? 0))
        try statements.setUnpublished(unpublished.toSave, last: change.lastID)
        try statements.setNewestTimes(change.newest)
    }
}
