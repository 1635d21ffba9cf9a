public import LockstepModel
import LockstepSQLite

extension Outbox {
    /// What became of batches that were to be written.
    public struct Accepted: Sendable {
        public var entries: [Entry] = []
        public var dropped = Dropped()
        /// What could not be written, and why.
        public var unwritten: [SampleBlock] = []
        public var error: OutboxError?
        /// Whether room had to be made on the disk.
        public var wasDiskFull = false
    }

    /// Like ``commit(appending:removing:at:)``, but makes room where the disk is full: what is acknowledged leaves, and
    /// then the oldest batches, until the new ones fit.
    ///
    /// For this some room is kept in the file `…-ballast` beside the outbox, up to 4 MiB.
    /// - Throws: ``OutboxError``; the outbox is then as before.
    public func accept(
        _ blocks: [SampleBlock], removing removed: [Epoch: SequenceSet] = [:], at now: Timestamp
    ) throws -> Accepted {
        do {
            let (entries, dropped) = try commit(appending: blocks, removing: removed, at: now)
            // The disk may have room again.
            ballast.restore()
            return Accepted(entries: entries, dropped: dropped)
        } catch let error as OutboxError where error.isFull {
            ballast.remove()
            defer { ballast.restore() }
            limitFile()
            _ = try commit(appending: [], removing: removed, at: now)
            return acceptOneByOne(blocks, at: now)
        }
    }

    /// Small transactions need little room in the write-ahead log.
    private func acceptOneByOne(_ blocks: [SampleBlock], at now: Timestamp) -> Accepted {
        var result = Accepted(unwritten: blocks, wasDiskFull: true)
        mergeLog()
        while let block = result.unwritten.first {
            do {
                let (entries, dropped) = try commit(appending: [block], at: now)
                result.entries += entries
                result.dropped.formUnion(dropped)
                result.unwritten.removeFirst()
                result.error = nil
            } catch {
                let error = OutboxError(path: path, error)
                result.error = error
                guard error.isFull, bytes > 0, let dropped = try? dropOldest(at: now) else { break }
                result.dropped.formUnion(dropped)
                mergeLog(truncate: true)
            }
        }
        mergeLog()
        let dropped = result.dropped
        result.entries.removeAll { dropped.batches[$0.position.epoch]?.contains($0.position.seq) == true }
        return result
    }

    /// Drops an eighth of what is held, so that not every batch has to make its own room.
    private func dropOldest(at now: Timestamp) throws -> Dropped {
        try shrink(to: max(0, bytes - max(bytes / 8, 65_536)), at: now)
    }
}

extension Outbox.Dropped {
    mutating func formUnion(_ other: Outbox.Dropped) {
        batches.formUnion(other.batches)
        samples += other.samples
        agedSamples += other.agedSamples
    }
}
