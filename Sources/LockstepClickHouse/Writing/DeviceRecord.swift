import LockstepModel
import LockstepStore

// Devices of a ClickHouse store.
extension DeviceRecord {
    /// Creates the record of a device that was never seen.
    init(_ address: DeviceAddress) { self.init(id: Self.id(of: address), address) }

    /// Returns the id of a device: 63 bits of a hash of `GROUP/DEVICE`, so that collectors need not agree about ids.
    static func id(of address: DeviceAddress) -> Int64 {
        var hash = StableHash()
        hash.combine(address.group.rawValue)
        hash.combine("/")
        hash.combine(address.device.rawValue)
        return Int64(bitPattern: hash.value & UInt64(Int64.max))
    }

    /// Records a message, or a batch.
    mutating func recordMessage(at time: Timestamp) {
        firstSeen = min(firstSeen ?? time, time)
        // Messages are recorded within a minute. A later time shows that the clock was ahead, and has been set back.
        lastSeen = lastSeen.flatMap { $0 - time > 60_000_000 ? nil : max($0, time) } ?? time
    }

    /// Records the batches of a run, and the counts of its samples.
    mutating func record(_ run: SampleRun, _ counts: IngestResult.Counts) {
        self.counts += counts
        if let last = run.samples.times.max() { lastSample = max(lastSample ?? last, last) }
        for batch in run.batches { recordMessage(at: batch.receivedAt) }
    }

    /// Appends the row for the table `received_devices`, also of a device of another store.
    func append(to rows: inout RowBinary, version: UInt64) {
        rows.append(Self.id(of: address))
        rows.append(address.group.rawValue)
        rows.append(address.device.rawValue)
        rows.append(firstSeen?.microseconds)
        rows.append(lastSeen?.microseconds)
        rows.append(lastSample)
        rows.append(Int64(counts.stored))
        rows.append(Int64(counts.duplicates))
        rows.append(Int64(counts.conflicts))
        rows.append(lifecycle.last?.to.rawValue)
        rows.append(lifecycle.last?.since.microseconds)
        rows.append(lifecycle.last?.from?.rawValue)
        rows.append(lifecycle.last?.reason)
        rows.append(lifecycle.last?.seq)
        rows.append(lifecycle.session)
        rows.append(lifecycle.epoch?.rawValue)
        rows.append(lifecycle.storedPhase)
        rows.append(lifecycle.evidenceTime?.microseconds)
        rows.append(version)
        rows.endRow()
    }
}
