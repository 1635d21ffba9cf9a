import FoundationEssentials
public import LockstepModel
import LockstepSQLite
import LockstepWire

/// An outbox that was restored from an older copy gives numbers again that another run of it has given: what a
/// collector acknowledges of these are other samples.
extension Outbox {
    /// Whether an acknowledgement is of batches that this outbox never sent.
    public func isOlder(than ack: Acknowledgement) -> Bool {
        guard ack.epoch == epoch else { return false }
        return ack.highest >= nextSeq || !ack.stored.intersection(unpublished.batches).isEmpty
    }

    /// Begins a new epoch, in which every batch that `ack` may be wrong about gets a new number.
    ///
    /// Some of these batches may be stored indeed: those that the copy had. The collector finds their samples to be
    /// duplicates. What `ack` misses keeps its number, since only that number closes the gap.
    /// - Parameter didMove: called after each batch: a full outbox takes its time on a small machine.
    /// - Returns: the batches it holds, by their new numbers.
    /// - Throws: ``OutboxError``; the outbox is then as before.
    @discardableResult
    public func startEpoch(
        after ack: Acknowledgement, didMove: () -> Void = {}
    ) throws -> [Epoch: SequenceSet] {
        let next = Epoch.random()
        var moved: Int64 = 0
        var held = bytes
        let pending: [Epoch: SequenceSet]
        do {
            let doubtful = (try statements.numbers(in: "batches")[epoch] ?? SequenceSet())
                .subtracting(SequenceSet(ack.missing))
            pending = try database.transaction {
                for seq in doubtful.ranges.joined() {
                    let old = BatchPosition(epoch: epoch, seq: seq)
                    let new = BatchPosition(epoch: next, seq: moved + 1)
                    // What can't be read can't be sent either.
                    guard let entry = try statements.entry(at: old), let renumbered = Self.renumbered(entry, as: new)
                    else { continue }
                    try statements.renumber(old, as: renumbered)
                    held += Int64(renumbered.payload.count - entry.payload.count)
                    moved += 1
                    didMove()
                }
                try statements.beginEpoch(next, after: epoch, seq: moved)
                return try statements.numbers(in: "batches")
            }
        } catch {
            throw OutboxError(path: path, error)
        }
        didBegin(next, seq: moved)
        bytes = held
        return pending
    }

    /// A batch was handed to a broker.
    public func didPublish(_ position: BatchPosition) {
        if position.epoch == epoch { unpublished.batches.remove(position.seq) }
    }

    /// Backlog is about to leave.
    /// - Throws: ``OutboxError``
    public func willSendBacklog() throws {
        guard !unpublished.isSending else { return }
        unpublished.isSending = true
        guard unpublished.isUnsaved else { return }
        do {
            try database.transaction { try statements.setUnpublished(unpublished.toSave) }
        } catch {
            unpublished.isSending = false
            throw OutboxError(path: path, error)
        }
        unpublished.didSave()
    }

    /// Nothing leaves any more.
    public func didDisconnect() { unpublished.isSending = false }

    private static func renumbered(_ entry: Entry, as position: BatchPosition) -> Entry? {
        let limits = PayloadLimits(bytes: .max, samples: .max)
        guard var batch = try? BatchEncoding.decode(Data(entry.payload), stream: entry.stream, limits: limits) else {
            return nil
        }
        batch.position = position
        return Entry(position: position, stream: entry.stream, payload: BatchEncoding(of: entry.payload).encode(batch))
    }
}
