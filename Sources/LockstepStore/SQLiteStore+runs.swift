import LockstepModel
import LockstepSQLite

// Writing one run: directly to its table, or to the active log.

extension SQLiteStore {
    /// Writes a run to its table, or appends it to the log.
    func write(_ run: SampleRun, table: Int, device: Int64) throws(SQLiteError) -> IngestResult.Counts {
        placement.add(run, table: table, device: device)
        let target = tables[table].logTarget
        let isDirect = placement.isDirect(run, rowsInLog: logs[activeLog]?.index.devices[device]?.rows ?? 0)
        // Nothing is appended for a run without samples, but its batches are recorded.
        let isEmpty = run.samples.isEmpty
        if target == nil || isEmpty || (isDirect && !logsMayContain(run.samples.times, of: table, device: device)) {
            return try writeDirectly(run, table: table, device: device)
        }
        guard let target else { return IngestResult.Counts() }
        return try append(run, to: target, table: table, device: device)
    }

    private func writeDirectly(
        _ run: SampleRun, table: Int, device: Int64
    ) throws(SQLiteError) -> IngestResult.Counts {
        let counts = try tables[table].write(run, device: device, in: database, conflicts: &conflicts)
        changes[device]?.ledger.recordAll(run, counts)
        return counts
    }

    /// Appends the new samples of a run to the log, and writes samples that are stored with different values to
    /// `conflicts`.
    private func append(
        _ run: SampleRun, to target: LogTarget, table: Int, device: Int64
    ) throws(SQLiteError) -> IngestResult.Counts {
        var counts = IngestResult.Counts()
        var batch = 0
        for piece in run.increasingPieces {
            let times = run.samples.times[piece]
            var new: [Int] = Array(piece)
            if let stored = try storedRows(times, of: table, device: device) {
                new = []
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
            }
            counts.stored += new.count
            let marks = try marks(new, of: run, piece: piece, from: &batch, device: device)
            try logs[activeLog]?.append(
                new, of: run.samples, to: target, table: table, device: device, marks: marks)
            logs[activeLog]?.updateIndex(of: device) { content in
                content.figures.samples += Int64(new.count)
                for index in new { content.figures.recordSample(at: run.samples.times[index]) }
                for mark in marks { content.figures.recordMessage(at: mark.receivedAt) }
            }
        }
        changes[device]?.ledger.duplicates += Int64(counts.duplicates)
        changes[device]?.ledger.conflicts += Int64(counts.conflicts)
        return counts
    }

    /// Returns the first new sample of each batch in a piece of a run. The ledger gets batches without new samples.
    /// - Parameter batch: the index of the first batch that is not marked yet.
    private func marks(
        _ new: [Int], of run: SampleRun, piece: Range<Int>, from batch: inout Int, device: Int64
    ) throws(SQLiteError) -> [LogMark] {
        var marks: [LogMark] = []
        var rest = new[...]
        while batch < run.batches.count, run.batches[batch].end <= piece.upperBound {
            let info = run.batches[batch]
            batch += 1
            let receivedAt = info.receivedAt.microseconds
            let first = rest.first
            rest = rest.drop { $0 < info.end }
            let position = info.validPosition
            let key = position.map { DeviceEpoch(device: run.device, epoch: $0.epoch) }
            if let first, first < info.end {
                let epoch = try key.map { key throws(SQLiteError) in
                    try epochs.id(of: key, device: device, in: database)
                }
                marks.append(LogMark(index: first, epoch: epoch, seq: position?.seq, receivedAt: receivedAt))
                if let key { logs[activeLog]?.updateIndex(of: device) { $0.add(key) } }
            } else {
                changes[device]?.ledger.recordMessage(at: receivedAt)
                if let key, let seq = position?.seq { changes[device]?.ledger.insert(seq, of: key) }
            }
        }
        return marks
    }

    /// Returns whether the logs may contain a time of a device's samples.
    private func logsMayContain(_ times: [Int64], of table: Int, device: Int64) -> Bool {
        guard let first = times.min(), let last = times.max() else { return false }
        return !turns(first...last, of: table, device: device).isEmpty
    }

    /// Returns the stored rows of a device at some increasing times, or nil if there are none.
    private func storedRows(
        _ times: ArraySlice<Int64>, of table: Int, device: Int64
    ) throws(SQLiteError) -> [Int64: [Double]]? {
        guard let first = times.first, let last = times.last else { return nil }
        let turns = turns(first...last, of: table, device: device)
        let isInTable = try tables[table].mayContain(first, device: device)
        guard isInTable || !turns.isEmpty else { return nil }
        return try tables[table].stored(times, device: device, turns: turns)
    }

    private func turns(
        _ times: ClosedRange<Int64>, of table: Int, device: Int64
    ) -> [(log: LogNumber, turn: Int64)] {
        LogNumber.allCases.flatMap { number in
            (logs[number]?.index.devices[device]?.segments(of: table, overlapping: times) ?? [])
                .map { (number, $0.turn) }
        }
    }
}

extension SampleRun {
    /// The longest ranges of samples whose times strictly increase.
    var increasingPieces: [Range<Int>] {
        var pieces: [Range<Int>] = []
        var start = 0
        for index in samples.times.indices.dropFirst() where samples.times[index] <= samples.times[index - 1] {
            pieces.append(start..<index)
            start = index
        }
        if start < samples.count { pieces.append(start..<samples.count) }
        return pieces
    }
}
