import FoundationEssentials
public import LockstepModel
import LockstepSQLite
import LockstepWire

/// Recovery of an outbox that was restored from an older copy.
///
/// Such an outbox assigns numbers that were already used after the copy was made. An acknowledgement of these numbers
/// refers to other samples.
extension Outbox {
    /// Returns whether an acknowledgement lists batches that this outbox never published.
    public func isOlder(than ack: Acknowledgement) -> Bool {
        guard ack.epoch == epoch else { return false }
        return ack.highest >= nextSeq || !ack.stored.intersection(unpublished.batches).isEmpty
    }

    /// Starts a new epoch. Every batch that `ack` may wrongly list as stored moves to the new epoch and gets a new
    /// number.
    ///
    /// Some of these batches may be stored; the collector then counts their samples as duplicates. Batches that `ack`
    /// lists as missing keep their numbers, because only these numbers fill the gaps.
    /// - Parameters:
    ///   - ack: an acknowledgement for which ``isOlder(than:)`` is true.
    ///   - didMove: called after each moved batch, to report progress: a full outbox takes long on a small machine.
    /// - Returns: the numbers of all batches in the outbox.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    @discardableResult
    public func startEpoch(
        after ack: Acknowledgement, didMove: () -> Void = {}
    ) throws -> [Epoch: SequenceSet] {
        let next = Epoch.random()
        let base = lastID
        let numbers = (pending()[epoch] ?? SequenceSet()).subtracting(SequenceSet(ack.missing))
        var moved = SequenceSet()
        var movedUndated = false
        var change = unchanged
        do {
            try database.transaction {
                // The newest row changes, which records which batches are acknowledged.
                try deleteAcknowledged(from: &change, limit: .max)
                for id in ids.ids(of: [epoch: numbers]).ranges.joined() {
                    let new = BatchPosition(epoch: next, seq: moved.count + 1)
                    // Skip an unreadable batch: it cannot be published either.
                    guard let old = ids.position(of: id), let entry = try statements.entry(id, at: old),
                        let renumbered = Self.renumbered(entry, as: new)
                    else { continue }
                    try statements.move(id, to: base + new.seq, payload: renumbered.payload)
                    change.bytes += Int64(renumbered.payload.count - entry.payload.count)
                    moved.insert(id)
                    if id <= lastUndatedID { movedUndated = true }
                    didMove()
                }
                try statements.beginEpoch(next, base: base, after: epoch, seq: moved.count)
                // The time line continues in the new epoch.
                try statements.setNewestTimes(newest)
                if movedUndated { try statements.setMeta("undated", base + moved.count) }
            }
        } catch {
            throw OutboxError(path: path, error)
        }
        didStartEpoch(next, seq: moved.count)
        if !moved.isEmpty { change.contents.move(moved, to: SequenceSet([base + 1...base + moved.count])) }
        if movedUndated { lastUndatedID = lastID }
        apply(change)
        return pending()
    }

    /// Records that a batch was published.
    public func didPublish(_ position: BatchPosition) {
        if position.epoch == epoch { unpublished.batches.remove(position.seq) }
    }

    /// Records that backlog is about to be published.
    /// - Throws: ``OutboxError`` if the record cannot be written.
    public func willSendBacklog() throws {
        guard !unpublished.isSending else { return }
        unpublished.isSending = true
        guard unpublished.isUnsaved else { return }
        do {
            try database.transaction { try statements.setUnpublished(unpublished.toSave, last: lastID) }
        } catch {
            unpublished.isSending = false
            throw OutboxError(path: path, error)
        }
        unpublished.didSave()
    }

    /// Records that backlog is no longer being published.
    public func didDisconnect() { unpublished.isSending = false }

    private static func renumbered(_ entry: Entry, as position: BatchPosition) -> Entry? {
        // Without decoding: the stream of an old batch may be declared differently now, or not at all.
        if let payload = BatchEncoding.renumbering(entry.payload, from: entry.position, to: position) {
            return Entry(position: position, stream: entry.stream, payload: payload)
        }
        let limits = PayloadLimits(bytes: .max, samples: .max)
        guard var batch = try? BatchEncoding.decode(Data(entry.payload), stream: entry.stream, limits: limits) else {
            return nil
        }
        batch.position = position
        return Entry(position: position, stream: entry.stream, payload: BatchEncoding(of: entry.payload).encode(batch))
    }
}
