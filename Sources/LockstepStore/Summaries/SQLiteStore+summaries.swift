import LockstepModel
import LockstepSQLite

// Which minutes are summarised when: about once a minute, each stream of each device is looked at, in slices between the commits.
// Nobody waits for a summary, so nothing is done while commits leave no time, and what fails is tried again a minute later.

/// Which stream of which device is looked at next.
struct SummaryRound {
    /// When the next round begins.
    var due: ContinuousClock.Instant
    /// The devices of the round under way; none otherwise.
    var devices: [Int64] = []
    /// The indexes of the table and of its device.
    var table = 0
    var next = 0
}

/// How far ``SQLiteStore/rebuildSummaries(while:)`` has got, as a share of what a step does, from 0 to 1.
public enum RebuildProgress: Hashable, Sendable {
    /// Old summaries are deleted.
    case deleting(Double)
    /// New ones are made.
    case making(Double)
}

extension SQLiteStore {
    /// Whether a round of summaries is under way or due.
    var needsSummaries: Bool { !summaries.devices.isEmpty || summaries.due <= .now }

    /// Summarises minutes for a few milliseconds.
    func performSummaries() {
        if summaries.devices.isEmpty {
            summaries = SummaryRound(
                due: .now + limits.summaryInterval, devices: devices.addresses.keys.sorted())
        }
        let end = ContinuousClock.now + limits.slice
        do {
            summaries = try summaryTransaction {
                let round = try summarise(until: end)
                try checkRoom()
                return round
            }
        } catch {
            for table in tables { table.minutes?.rollBack() }
            summaries.devices = []
        }
    }

    /// Makes all summaries of minutes again from the samples, except those of minutes whose samples have left: nothing else has
    /// these. If it is interrupted when the old ones are deleted, the next start of the collector goes on; until then, rows are
    /// read. Before, old summaries stay that were not reached.
    /// - Parameter goesOn: is called between slices of some milliseconds.
    /// - Returns: the numbers of summaries that were made, and of those that stay.
    /// - Throws: ``StoreError`` if the store cannot be written.
    public func rebuildSummaries(
        while goesOn: (RebuildProgress) -> Bool
    ) throws(StoreError) -> (made: Int64, kept: Int64) {
        do {
            let ids = devices.addresses.keys.sorted()
            let summarised = tables.indices.filter { tables[$0].minutes != nil && tables[$0].knowsAllColumns }
            // How long a stream of a device takes is not known before it is read.
            func share(_ table: Int, _ device: Int) -> Double {
                let series =
                    summarised.count { $0 < table } * ids.count + (summarised.contains(table) ? device : 0)
                return Double(series) / Double(max(1, summarised.count * ids.count))
            }
            for table in summarised {
                for (index, device) in ids.enumerated() {
                    var next: Int64? = .min
                    while let position = next, goesOn(.deleting(share(table, index))) {
                        next = try summaryTransaction {
                            try tables[table].minutes?.discard(
                                of: device, from: position, limit: tables[table].kept[Int(device)] ?? .min)
                        }
                        if needsCheckpoint { checkpoint() }
                    }
                }
            }
            let kept = try summaryCount()
            summaries = SummaryRound(due: .now + limits.summaryInterval, devices: ids)
            while !summaries.devices.isEmpty, goesOn(.making(share(summaries.table, summaries.next))) {
                summaries = try summaryTransaction { try summarise(until: .now + limits.slice) }
                if needsCheckpoint { checkpoint() }
            }
            return (try summaryCount() - kept, kept)
        } catch {
            for table in tables { table.minutes?.rollBack() }
            throw StoreError(error, path: path)
        }
    }

    /// Runs a transaction that does not wait for the disk: what a power failure undoes is repeated.
    private func summaryTransaction<Result>(_ body: () throws -> Result) throws -> Result {
        try database.execute("PRAGMA synchronous = NORMAL")
        isSyncLowered = true
        defer { try? restoreSync() }
        defer { didChangeLogLength() }
        return try database.transaction { try body() }
    }

    private func summaryCount() throws(SQLiteError) -> Int64 {
        var count: Int64 = 0
        for table in tables where try table.stream.hasMinutes(in: database) {
            count += try database.integer("SELECT count(*) FROM \(table.stream.minutesTable)")
        }
        return count
    }

    /// Summarises until the end of the round or a time.
    /// - Returns: what follows.
    private func summarise(until end: ContinuousClock.Instant) throws(SQLiteError) -> SummaryRound {
        var round = summaries
        while round.table < tables.count {
            guard let minutes = tables[round.table].minutes, tables[round.table].knowsAllColumns,
                round.next < round.devices.count
            else {
                (round.table, round.next) = (round.table + 1, 0)
                continue
            }
            let device = round.devices[round.next]
            let newest = try tables[round.table].newestTime(of: device, waiting, round.table)
            var isComplete = true
            if newest > .min {
                isComplete = try minutes.summarise(device, newest: newest, sums) { ContinuousClock.now >= end }
            }
            if isComplete { round.next += 1 }
            if ContinuousClock.now >= end { return round }
        }
        round.devices = []
        return round
    }
}
