import LockstepModel
import LockstepSQLite

// Writing the groups of a transaction.

extension SQLiteStore {
    func insert(_ group: IngestGroup) throws {
        observer?.beginGroup(group)
        try write(group.deletions)
        var runs = try resolve(group.runs)
        // Sort by table and device, which improves the hit rate of the page cache. Runs of one device and stream keep
        // their order.
        runs.sort { ($0.table, $0.device, $0.index) < ($1.table, $1.device, $1.index) }
        var next = 0
        while next < runs.count {
            let resolved = runs[next]
            var run = group.runs[resolved.index]
            next += 1
            // Messages of many devices come in turns. Those of one are written together.
            while next < runs.count, runs[next].table == resolved.table, runs[next].device == resolved.device {
                run.append(group.runs[runs[next].index])
                next += 1
            }
            let position = changes.position(of: resolved.device, run.device)
            changes[position].add(run)
            changes[position].counts += try write(run, table: resolved.table, device: resolved.device)
        }
        for (device, time) in group.seen {
            let id = devices.id(of: device)
            let position = changes.position(of: id, device)
            changes[position].recordMessage(at: time)
            changes[position].lastSeen = max(changes[position].lastSeen ?? time, time)
        }
        for entry in group.transitions {
            let id = devices.id(of: entry.device)
            try lifecycle.write(entry.transition, of: id)
        }
        // A device may be in both: its snapshot is newer.
        for entry in group.evidence {
            let id = devices.id(of: entry.device, number: entry.number)
            evidence[Int(id)] = entry.time.microseconds
        }
        for (device, snapshot) in group.lifecycles {
            let id = devices.id(of: device)
            evidence[Int(id)] = snapshot.evidenceTime?.microseconds
            changes[changes.position(of: id, device)].snapshot = snapshot
        }
        try write(group.clocks)
        try insertBatchNumbers(of: group, runs)
        for (key, report) in group.reports { try write(report, of: key.device) }
        try rejected.write(group.rejected)
        try writeSessions(of: group)
        try observe(group)
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
        try runs.indices.map { index in
            ResolvedRun(
                table: try table(of: runs[index].samples.stream.name, number: runs[index].streamNumber),
                device: devices.id(of: runs[index].device, number: runs[index].deviceNumber), index: index)
        }
    }

    /// Returns the index in `tables` of the table of a stream.
    /// - Parameter number: the number that the writer has given to the stream. It avoids computing a hash.
    private func table(of stream: String, number: Int?) throws -> Int {
        if let number, let table = numberedTables[number], tables[table].stream.name == stream { return table }
        guard let table = tableIndexes[stream] else {
            throw StoreError(
                .other, "the store \(path) has no table for the stream \(stream): open the store with this stream")
        }
        if let number { numberedTables[number] = table }
        return table
    }

    private func insertBatchNumbers(of group: IngestGroup, _ runs: [ResolvedRun]) throws(SQLiteError) {
        // All streams of a device share one sequence of batch numbers. Collecting the numbers first gives contiguous
        // ranges.
        var open: Scope?
        var numbers: [Int64] = []
        // Runs of one table are already sorted by device.
        let hasOneTable = runs.first?.table == runs.last?.table
        let runs = hasOneTable ? runs : runs.sorted { ($0.device, $0.index) < ($1.device, $1.index) }
        for resolved in runs {
            let address = group.runs[resolved.index].device
            for batch in group.runs[resolved.index].batches {
                guard let position = batch.position else { continue }
                if open?.device != resolved.device || open?.epoch != position.epoch {
                    if let open { try insert(&numbers, of: open) }
                    open = scopes.scope(of: address, device: resolved.device, epoch: position.epoch)
                }
                numbers.append(position.seq)
            }
        }
        if let open { try insert(&numbers, of: open) }
        for entry in group.dropped {
            let device = devices.id(of: entry.device)
            let scope = scopes.scope(of: entry.device, device: device, epoch: entry.epoch)
            try dropped.insert(entry.ranges.ranges, of: scope)
            markChanged(scope)
        }
    }

    /// Writes what a report changes. Usually nothing: a device has, or the store has, all batches.
    private func write(_ report: OutboxReport, of address: DeviceAddress) throws(SQLiteError) {
        let device = devices.id(of: address)
        if devices.added.contains(device) { recent.add(device) }
        let epochs = reports.isCopy ? nil : recent.epochs(of: device)
        let changes = try EpochReport.changes(
            by: report, of: reports[device], isNew: epochs != nil, epochs: epochs ?? []
        ) { epoch throws(SQLiteError) in
            let scope = scopes.scope(of: address, device: device, epoch: epoch)
            guard !reports.isCopy, try !received.hasOther(than: scope), !waiting.hasOther(than: scope) else {
                return nil
            }
            return try received.numbers(of: scope).first ?? .max
        } known: { epoch throws(SQLiteError) in
            let scope = scopes.scope(of: address, device: device, epoch: epoch)
            return try received.numbers(of: scope).union(dropped.numbers(of: scope))
        }
        try reports.write(changes, of: device)
    }

    /// Inserts received batch numbers, and removes them from `numbers`.
    private func insert(_ numbers: inout [Int64], of scope: Scope) throws(SQLiteError) {
        markChanged(scope)
        defer { numbers.removeAll(keepingCapacity: true) }
        if numbers.count == 1 {
            try received.insert(CollectionOfOne(numbers[0]...numbers[0]), of: scope)
            return
        }
        var ranges: [ClosedRange<Int64>] = []
        numbers.sort()
        for number in numbers where RangeLedger.validNumbers.contains(number) {
            if let last = ranges.last, number <= last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, number)
            } else {
                ranges.append(number...number)
            }
        }
        try received.insert(ranges, of: scope)
    }

    /// Writes the changes that the current transaction made to a device.
    func write(_ changes: DeviceChanges) throws(SQLiteError) {
        let device = changes.id
        if let snapshot = changes.snapshot {
            // The row is rewritten anyway, so it gets the times of messages as well.
            try devices.write(snapshot, of: device, firstSeen: changes.firstSeen, lastSeen: changes.lastSeen)
        } else {
            try devices.write(new: device, firstSeen: changes.firstSeen)
            if let seen = changes.lastSeen {
                try waiting.append(WaitingTable.Receipt(device: device, received: seen.microseconds), rows: nil)
            }
        }
        try devices.add(changes.counts, of: device)
    }
}
