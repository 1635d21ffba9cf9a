import LockstepModel
import LockstepSQLite

// Writing one run: straight to its table, or as a row of `_waiting`.

extension SQLiteStore {
    /// The approximate size of a run in its table, in bytes, from which it is written there directly: it fills two pages of a
    /// new store. A batch of 100 samples of an accelerometer does.
    static let directSize = 4096

    /// Writes the new samples of a run, and samples that are stored with different values to `conflicts`.
    func write(_ run: SampleRun, table: Int, device: Int64) throws -> IngestResult.Counts {
        if !run.samples.isEmpty { try tables[table].create(in: database) }
        if observed[table] { try prepareObserver(run, table: table, device: device) }
        var counts = IngestResult.Counts()
        var batch = 0
        while batch < run.batches.count {
            // A row of `_waiting` has batches of one epoch.
            let epoch = run.batches[batch].position?.epoch
            let first = batch
            repeat { batch += 1 } while batch < run.batches.count && run.batches[batch].position?.epoch == epoch
            try write(first..<batch, of: run, table: table, device: device, &counts)
        }
        return counts
    }

    private func write(
        _ batches: Range<Int>, of run: SampleRun, table: Int, device: Int64, _ counts: inout IngestResult.Counts
    ) throws {
        let start = batches.lowerBound == 0 ? 0 : run.batches[batches.lowerBound - 1].end
        let samples = start..<run.batches[batches.upperBound - 1].end
        var receipt = receipt(of: batches, in: run, device: device)
        guard !samples.isEmpty else { return try waiting.append(receipt, rows: nil) }
        let times = run.samples.times
        let order = order(times[samples])
        receipt.stream = tables[table].id
        receipt.table = table
        var ranges = [samples]
        let newest = try tables[table].newestTime(of: device, waiting, table)
        let removed = try removedTimes(
            of: table, device, in: order.least...order.greatest, parts: Minute.parts(of: times[samples]), areNew: true)
        if removed != nil || !order.isIncreasing || order.least <= newest {
            let new = try newSamples(samples, of: run, table: table, device: device, unless: removed, &counts)
            ranges = new.increasingRanges(times)
        }
        if let least = ranges.map({ times[$0.lowerBound] }).min(),
            let greatest = ranges.map({ times[$0.upperBound - 1] }).max()
        {
            receipt.times = least...greatest
        }
        receipt.samples = ranges.reduce(0) { $0 + $1.count }
        counts.stored += receipt.samples
        try write(ranges, of: run.samples, table: table, receipt)
        if observed[table] { observe(ranges, of: run, device: device) }
    }

    /// Returns whether times strictly increase, the least and the greatest one.
    private func order(_ times: ArraySlice<Int64>) -> (isIncreasing: Bool, least: Int64, greatest: Int64) {
        var last = times[times.startIndex]
        var (isIncreasing, least, greatest) = (true, last, last)
        for time in times.dropFirst() {
            if time <= last { isIncreasing = false }
            least = min(least, time)
            greatest = max(greatest, time)
            last = time
        }
        return (isIncreasing, least, greatest)
    }

    /// Returns what a row tells of some batches, without their samples.
    private func receipt(of batches: Range<Int>, in run: SampleRun, device: Int64) -> WaitingTable.Receipt {
        var numbers: [Int64] = []
        var received = Int64.min
        for batch in run.batches[batches] {
            received = max(received, batch.receivedAt.microseconds)
            if let number = batch.validPosition?.seq { numbers.append(number) }
        }
        if numbers.count > 1 { numbers.sort() }
        var receipt = WaitingTable.Receipt(device: device, received: received)
        receipt.batches = numbers
        if !numbers.isEmpty, let epoch = run.batches[batches.lowerBound].position?.epoch {
            receipt.epoch = epoch
            receipt.scope = scopes.scope(of: run.device, device: device, epoch: epoch).number
        }
        return receipt
    }

    /// Writes new samples and a row of `_waiting`, which has the samples unless they fill pages of the table.
    private func write(
        _ ranges: [Range<Int>], of block: SampleBlock, table: Int, _ receipt: WaitingTable.Receipt
    ) throws(SQLiteError) {
        guard let times = receipt.times else { return try waiting.append(receipt, rows: nil) }
        tables[table].didWrite(until: times.upperBound, device: receipt.device)
        guard receipt.samples * block.stream.rowSize < Self.directSize else {
            for range in ranges { try tables[table].insert(range, of: block, device: receipt.device) }
            return try waiting.append(receipt, rows: nil)
        }
        if !tables[table].showsWaiting { try tables[table].show(waiting: true, in: database) }
        let json =
            ranges.count == 1
            ? tables[table].json(ranges[0], of: block, after: times.lowerBound)
            : tables[table].json(ranges.flatMap(Array.init), of: block, after: times.lowerBound)
        try waiting.append(receipt, rows: json)
    }

    /// Returns those samples that are not stored yet, and have not left already.
    private func newSamples(
        _ samples: Range<Int>, of run: SampleRun, table: Int, device: Int64, unless filter: RemovedTimes?,
        _ counts: inout IngestResult.Counts
    ) throws(SQLiteError) -> [Int] {
        let block = run.samples
        var stored = try storedRows(samples.map { block.times[$0] }, of: table, device: device)
        var new: [Int] = []
        var removed: [RemovedTimes.Reason: Int] = [:]
        for index in samples {
            if let reason = filter?.reason(block.times[index]) {
                removed[reason, default: 0] += 1
                continue
            }
            guard let values = stored[block.times[index]] else {
                new.append(index)
                stored[block.times[index]] = block.stream.columns.indices.map { column in
                    block.stream.columns[column].kind.normalized(block.columns[column][index])
                }
                continue
            }
            if !block.stream.isEqual(index, of: block, to: values),
                try conflicts.write(index, of: run, stored: values, device: device, in: database)
            {
                counts.conflicts += 1
            } else {
                counts.duplicates += 1
            }
        }
        counts.expired += removed[.expired] ?? 0
        try count(removed, areNew: true, of: table, device)
        return new
    }

    /// Returns the stored samples of a device at some times, and perhaps others.
    private func storedRows(
        _ times: [Int64], of table: Int, device: Int64
    ) throws(SQLiteError) -> [Int64: [Double]] {
        guard let first = times.min(), let last = times.max() else { return [:] }
        var stored: [Int64: [Double]] = [:]
        try tables[table].read(times, device: device, into: &stored)
        for row in waiting.rows(of: table, device: device, overlapping: first...last) {
            try waiting.read(row.n) { row throws(SQLiteError) in
                tables[table].decode(row) { time, values in stored[time] = values }
            }
        }
        return stored
    }
}

extension [Int] {
    /// The ranges of consecutive numbers of a sorted list whose times increase.
    func increasingRanges(_ times: [Int64]) -> [Range<Int>] {
        reduce(into: []) { ranges, number in
            if let last = ranges.last, last.upperBound == number, times[number - 1] < times[number] {
                ranges[ranges.count - 1] = last.lowerBound..<number + 1
            } else {
                ranges.append(number..<number + 1)
            }
        }
    }
}
