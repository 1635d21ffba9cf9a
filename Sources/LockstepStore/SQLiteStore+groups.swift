import LockstepModel
import LockstepSQLite

// Writing the groups of a transaction.

extension SQLiteStore {
    func insert(_ group: IngestGroup) throws {
        var runs = try resolve(group.runs)
        // Sort by table and device, which improves the hit rate of the page cache. Runs of one device and stream keep
        // their order.
        runs.sort { ($0.table, $0.device, $0.index) < ($1.table, $1.device, $1.index) }
        for resolved in runs {
            let run = group.runs[resolved.index]
            changes[resolved.device, default: DeviceChanges(run.device)].add(run)
            let counts = try write(run, table: resolved.table, device: resolved.device)
            changes[resolved.device]?.counts += counts
        }
        for (device, time) in group.seen {
            let id = try devices.id(of: device, in: database)
            changes[id, default: DeviceChanges(device)].recordMessage(at: time)
            changes[id]?.ledger.recordMessage(at: time.microseconds)
        }
        for entry in group.transitions {
            try lifecycle.write(entry.transition, of: devices.id(of: entry.device, in: database))
        }
        for (device, snapshot) in group.lifecycles {
            let id = try devices.id(of: device, in: database)
            evidence[id] = snapshot.evidenceTime?.microseconds
            guard group.changedLifecycles.contains(device) else { continue }
            changes[id, default: DeviceChanges(device)].snapshot = snapshot
        }
        try insertBatchNumbers(of: group, runs)
        try rejected.write(group.rejected)
    }

    /// A run of a group with its table and the id of its device.
    private struct ResolvedRun {
        /// The index in `tables`.
        let table: Int
        /// The device id.
        let device: Int64
        /// The index of the run in its group.
        let index: Int
    }

    /// Returns the table index and device id of each run. New devices are inserted.
    private func resolve(_ runs: [SampleRun]) throws -> [ResolvedRun] {
        try runs.enumerated().map { index, run in
            guard let table = tableIndexes[run.samples.stream] else {
                throw StoreError(
                    .other,
                    "the store \(path) has no table for the stream \(run.samples.stream): open the store with this stream"
                )
            }
            return ResolvedRun(table: table, device: try devices.id(of: run.device, in: database), index: index)
        }
    }

    private func insertBatchNumbers(of group: IngestGroup, _ runs: [ResolvedRun]) throws(SQLiteError) {
        // All streams of a device share one sequence of batch numbers. Collecting the numbers first gives contiguous
        // ranges.
        var numbers: (key: DeviceEpoch, device: Int64, batches: [Int64])?
        for resolved in runs.sorted(by: { ($0.device, $0.index) < ($1.device, $1.index) }) {
            let run = group.runs[resolved.index]
            for batch in run.batches {
                guard let position = batch.position else { continue }
                if numbers?.device != resolved.device || numbers?.key.epoch != position.epoch {
                    if let numbers { try insert(numbers.batches, of: numbers.key, device: numbers.device) }
                    numbers = (DeviceEpoch(device: run.device, epoch: position.epoch), resolved.device, [])
                }
                numbers?.batches.append(position.seq)
            }
        }
        if let numbers { try insert(numbers.batches, of: numbers.key, device: numbers.device) }
        for entry in group.dropped {
            let key = DeviceEpoch(device: entry.device, epoch: entry.epoch)
            let device = try devices.id(of: entry.device, in: database)
            try dropped.insert(entry.ranges.ranges, of: key, device: device)
            changedEpochs[key] = device
        }
    }

    private func insert(_ batches: [Int64], of key: DeviceEpoch, device: Int64) throws(SQLiteError) {
        changedEpochs[key] = device
        var ranges: [ClosedRange<Int64>] = []
        for number in batches.sorted() where RangeLedger.validNumbers.contains(number) {
            if let last = ranges.last, number <= last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, number)
            } else {
                ranges.append(number...number)
            }
        }
        try received.insert(ranges, of: key, device: device)
    }

    /// Writes the changes that the current transaction made to a device.
    func write(_ changes: DeviceChanges, of device: Int64) throws(SQLiteError) {
        if devices.added.contains(device), let time = changes.firstSeen {
            try devices.setFirstSeen(time, of: device)
        }
        if let snapshot = changes.snapshot { try devices.write(snapshot, of: device) }
        guard !changes.ledger.isEmpty else { return }
        var change: LedgerChange? = changes.ledger
        for (key, numbers) in changes.ledger.batches {
            let epoch = try epochs.id(of: key, device: device, in: database)
            for range in numbers.ranges {
                try logs[activeLog]?.append(change, epoch: epoch, batches: range, device: device)
                change = nil
            }
        }
        if change != nil { try logs[activeLog]?.append(change, epoch: 0, batches: nil, device: device) }
        logs[activeLog]?.updateIndex(of: device) { $0.add(changes.ledger) }
    }
}
