public import LockstepModel
import LockstepSQLite

extension Outbox {
    /// The result of writing batches.
    public struct Accepted: Sendable {
        /// The batches that were written.
        public var entries: [Entry] = []
        /// The batches that were dropped because of the limits or a full disk.
        public var dropped = Dropped()
        /// The blocks that could not be written.
        public var unwritten: [SampleBlock] = []
        /// The reason why blocks could not be written.
        public var error: OutboxError?
        /// Whether the disk was full.
        public var wasDiskFull = false
    }

    /// Writes new batches like ``commit(appending:removing:at:)``. If the disk is full, it first removes acknowledged
    /// batches and then drops the oldest batches until the new ones fit.
    ///
    /// The file `…-ballast` beside the outbox reserves up to 4 MiB of disk space for this.
    /// - Parameters:
    ///   - blocks: the samples of the new batches, one block for each batch.
    ///   - removed: the acknowledged batches.
    ///   - boot: the current time in µs of the boot clock.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func accept(
        _ blocks: [SampleBlock], removing removed: [Epoch: SequenceSet] = [:], at boot: Int64
    ) throws -> Accepted {
        do {
            let (entries, dropped) = try commit(appending: blocks, removing: removed, at: boot)
            // The disk may have space again.
            reservedSpace.restore()
            return Accepted(entries: entries, dropped: dropped)
        } catch let error as OutboxError where error.isFull {
            reservedSpace.remove()
            defer { reservedSpace.restore() }
            limitFile()
            _ = try commit(appending: [], removing: removed, at: boot)
            try deleteAllAcknowledged()
            return acceptOneByOne(blocks, at: boot)
        }
    }

    /// Writes each block in its own transaction, which needs little space in the write-ahead log.
    private func acceptOneByOne(_ blocks: [SampleBlock], at boot: Int64) -> Accepted {
        var result = Accepted(unwritten: blocks, wasDiskFull: true)
        checkpoint()
        while let block = result.unwritten.first {
            do {
                let (entries, dropped) = try commit(appending: [block], at: boot)
                result.entries += entries
                result.dropped.formUnion(dropped)
                result.unwritten.removeFirst()
                result.error = nil
            } catch {
                let error = OutboxError(path: path, error)
                result.error = error
                guard error.isFull, let dropped = try? dropOldest(at: boot) else { break }
                result.dropped.formUnion(dropped)
                checkpoint(truncate: true)
            }
        }
        checkpoint()
        let dropped = result.dropped
        result.entries.removeAll { dropped.batches[$0.position.epoch]?.contains($0.position.seq) == true }
        return result
    }

    /// Deletes the oldest part of the journal or, if there is none, drops the oldest eighth of the outbox, so that the
    /// next batches fit without further drops.
    /// - Returns: the dropped batches, or nil if the file has no batches.
    private func dropOldest(at boot: Int64) throws -> Dropped? {
        let deleted = try database.transaction { try statements.deleteOldestJournal(contents.journaled) }
        if deleted > 0 { return Dropped() }
        return bytes > 0 ? try shrink(to: max(0, bytes - max(bytes / 8, 65_536)), at: boot) : nil
    }
}

extension Outbox.Dropped {
    mutating func formUnion(_ other: Outbox.Dropped) {
        batches.formUnion(other.batches)
        samples += other.samples
        agedSamples += other.agedSamples
    }
}
