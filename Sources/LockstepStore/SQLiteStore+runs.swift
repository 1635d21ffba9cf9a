import LockstepModel
import LockstepSQLite

// Writing one run: directly to its table, or to the active log.

extension SQLiteStore {
    /// Writes a run to its table, or appends it to the log.
    /// - Parameter position: the position of the device in `changes`.
    func write(
        _ run: SampleRun, table: Int, device: Int64, changes position: Int
    ) throws -> IngestResult.Counts {
        if observed[table] { try prepareObserver(run, table: table, device: device) }
        placement.add(run, table: table, device: device)
        let rowsInLog = logs[activeLog].index.devices[Int(device)]?.rows ?? 0
        let isDirect = placement.isDirect(run, rowsInLog: rowsInLog)
        // Nothing is appended for a run without samples, but its batches are recorded.
        guard !run.samples.isEmpty, tables[table].logTarget != nil, device <= LogKey.maxDevice,
            try !isDirect || logsMayContain(run.samples.times, of: table, device: device)
        else {
            if observed[table] {
                observe(try newRows(of: run, table: table, device: device), of: run, device: device)
            }
            let counts = try tables[table].write(run, device: device, in: database, conflicts: &conflicts)
            changes[position].ledger.recordAll(run, counts)
            return counts
        }
        return try append(run, table: table, device: device, changes: position)
    }

    /// Appends the new samples of a run to the log, and writes samples that are stored with different values to
    /// `conflicts`.
    private func append(
        _ run: SampleRun, table: Int, device: Int64, changes position: Int
    ) throws(SQLiteError) -> IngestResult.Counts {
        var counts = IngestResult.Counts()
        var batch = 0
        var start = 0
        while start < run.samples.count {
            let piece = run.increasingPiece(from: start)
            start = piece.upperBound
            guard let stored = try storedRows(run.samples.times[piece], of: table, device: device) else {
                counts.stored += piece.count
                if observed[table] { observe([piece], of: run, device: device) }
                try append(piece, of: run, piece: piece, &batch, table: table, device: device, changes: position)
                continue
            }
            var new: [Int] = []
            for index in piece {
                guard let values = stored[run.samples.times[index]] else {
                    new.append(index)
                    continue
                }
                if !run.samples.stream.isEqual(index, of: run.samples, to: values),
                    try conflicts.write(index, of: run, stored: values, device: device, in: database)
                {
                    counts.conflicts += 1
                } else {
                    counts.duplicates += 1
                }
            }
            counts.stored += new.count
            if observed[table] { observe(new.ranges, of: run, device: device) }
            try append(new, of: run, piece: piece, &batch, table: table, device: device, changes: position)
        }
        changes[position].ledger.duplicates += Int64(counts.duplicates)
        changes[position].ledger.conflicts += Int64(counts.conflicts)
        return counts
    }

    /// Appends the new samples of a piece of a run to the log.
    private func append(
        _ new: some RandomAccessCollection<Int>, of run: SampleRun, piece: Range<Int>, _ batch: inout Int, table: Int,
        device: Int64, changes position: Int
    ) throws(SQLiteError) {
        guard let target = tables[table].logTarget else { return }
        try findMarks(new, of: run, piece: piece, from: &batch, device: device, changes: position)
        try logs[activeLog].append(new, of: run.samples, to: target, table: table, device: device, marks: marks)
    }

    /// Sets `marks` to the first new sample of each batch in a piece of a run. The ledger gets batches without new
    /// samples.
    /// - Parameter batch: the index of the first batch that is not marked yet.
    private func findMarks(
        _ new: some RandomAccessCollection<Int>, of run: SampleRun, piece: Range<Int>, from batch: inout Int,
        device: Int64, changes position: Int
    ) throws(SQLiteError) {
        marks.removeAll(keepingCapacity: true)
        var rest = new[...]
        while batch < run.batches.count, run.batches[batch].end <= piece.upperBound {
            let info = run.batches[batch]
            batch += 1
            let receivedAt = info.receivedAt.microseconds
            let first = rest.first
            rest = rest.drop { $0 < info.end }
            let number = info.validPosition
            if let first, first < info.end {
                var scope: Scope?
                var epoch: Int64?
                if let number {
                    let found = scopes.scope(of: run.device, device: device, epoch: number.epoch)
                    epoch = try epochs.id(of: found, &devices, in: database)
                    scope = found
                }
                marks.append(
                    LogMark(
                        index: first, epoch: epoch, scope: scope?.number, seq: number?.seq, receivedAt: receivedAt))
            } else {
                changes[position].ledger.recordMessage(at: receivedAt)
                if let number { changes[position].ledger.insert(number.seq, of: number.epoch) }
            }
        }
    }

    /// Returns whether the logs or runs may contain a time of a device's samples.
    private func logsMayContain(_ times: [Int64], of table: Int, device: Int64) throws(SQLiteError) -> Bool {
        guard let first = times.min(), let last = times.max() else { return false }
        return try !parts(first...last, of: table, device: device).isEmpty
    }

    /// Returns the stored rows of a device at some increasing times, or nil if there are none.
    private func storedRows(
        _ times: ArraySlice<Int64>, of table: Int, device: Int64
    ) throws(SQLiteError) -> [Int64: [Double]]? {
        guard let first = times.first, let last = times.last else { return nil }
        let parts = try parts(first...last, of: table, device: device)
        let isInTable = try tables[table].mayContain(first, device: device)
        guard isInTable || !parts.isEmpty else { return nil }
        return try tables[table].stored(times, device: device, parts: parts)
    }

    /// Returns the turns of the logs that may contain times of a device's samples, and the runs that contain some.
    func parts(
        _ times: ClosedRange<Int64>, of table: Int, device: Int64
    ) throws(SQLiteError) -> [(source: RowSource, part: Int64)] {
        var parts = turns(times, of: table, device: device)
        guard !runs.isEmpty, try tables[table].mayContain(times.lowerBound, device: device),
            let stream = tables[table].logTarget?.stream
        else { return parts }
        for run in runs.runs(with: stream.id, times)
        where try tables[table].isInRun(run, times, device: device) { parts.append((.runs, run)) }
        return parts
    }

    /// Returns the turns of the logs that may contain times of a device's samples or estimates.
    func turns(
        _ times: ClosedRange<Int64>, of table: Int, device: Int64
    ) -> [(source: RowSource, part: Int64)] {
        var turns: [(source: RowSource, part: Int64)] = []
        for number in LogNumber.allCases {
            logs[number].index.devices[Int(device)]?.forEachSegment(of: table, overlapping: times) { segment in
                turns.append((.log(number), segment.turn))
            }
        }
        return turns
    }
}

extension [Int] {
    /// The ranges of consecutive numbers of a sorted list.
    var ranges: [Range<Int>] {
        reduce(into: []) { ranges, number in
            if let last = ranges.last, last.upperBound == number {
                ranges[ranges.count - 1] = last.lowerBound..<number + 1
            } else {
                ranges.append(number..<number + 1)
            }
        }
    }
}

extension SampleRun {
    /// Returns the longest range of samples from a start whose times strictly increase.
    /// - Precondition: `start` is less than the number of samples.
    func increasingPiece(from start: Int) -> Range<Int> {
        var end = start + 1
        while end < samples.count, samples.times[end] > samples.times[end - 1] { end += 1 }
        return start..<end
    }
}
