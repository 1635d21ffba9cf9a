import LockstepModel
import LockstepStore
import LockstepWire

// Batches of a fleet, and stores with older ones.

extension WritesFleet {
    /// The epoch of all batches.
    static var epoch: Epoch { get throws { try Epoch(validating: "bench") } }

    /// Returns samples of a device as a batch.
    /// - Parameters:
    ///   - seq: the number of the batch.
    ///   - first: the number of the first sample, which may be negative.
    ///   - end: the time of the last sample.
    func batch(device: Int, seq: Int64, first: Int, count: Int, end: Timestamp) throws -> Batch {
        Batch(
            position: BatchPosition(epoch: try Self.epoch, seq: seq), isLive: true,
            samples: block(device: device, first: first, count: count, end: end))
    }

    /// Fills a new store with rows of each device that are older than the first live samples. Each device has sent them as
    /// one batch.
    /// - Parameter begin: the start of the live messages.
    func fill(_ path: String, rows: Int, begin: Timestamp) throws {
        guard rows > 0 else { return }
        let store = try SQLiteStore(path: path)
        var (group, added) = (IngestGroup(), 0)
        func write() throws {
            try store.write(group)
            if store.needsMaintenance { store.performMaintenance() }
            (group, added) = (IngestGroup(), 0)
        }
        for device in 0..<devices {
            // The first live samples are at most a window older than the start.
            let end = begin - Int64(window)
            let batch = try batch(device: device, seq: 1, first: -rows, count: rows, end: end)
            group.append(ReceivedBatch(device: try address(device), batch: batch, receivedAt: begin))
            added += rows
            if added >= 100_000 { try write() }
        }
        if added > 0 { try write() }
    }
}
