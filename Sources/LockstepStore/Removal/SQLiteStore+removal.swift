import LockstepModel
import LockstepSQLite

// How rows leave: in slices, each a transaction of its own between the commits of ingest, which records what it has removed.
// So a store that is killed goes on with what is left. Samples of a series that leave by the rules raise its limit in
// `expired`; what a person has deleted is in `deletions` before the first row leaves. No sample of these times is stored again.

extension SQLiteStore {
    /// The duration for which a transaction of a busy collector removes at most.
    private static let maxShare = Duration.milliseconds(10)
    /// The number of samples that 2 ms of it make up for at least.
    private static let leastPaid = 2500
    /// The time after which a removal that has failed is tried again. On a full disk, it is what makes room.
    private static let retryInterval = Duration.seconds(10)
    /// The time after which a deletion of which not all could leave is tried again. Each attempt merges what waits.
    private static let deletionRetryInterval = Duration.seconds(600)

    /// Whether rows are to leave, or a look whether some are is due.
    var needsRemoval: Bool {
        guard retention.retryAt.map({ $0 <= .now }) ?? true else { return false }
        if retention.removal != nil { return !waitsForMerge }
        return isDeletionDue || !retention.settings.keepsEverything && retention.due <= .now
    }

    /// Whether a deletion by a person is to begin. After one has failed, what leaves by the rules goes first.
    var isDeletionDue: Bool {
        guard let row = deletions.pending(after: retention.failedDeletions), !hasMergeFailed else { return false }
        guard retention.failedDeletions.contains(row.number) else { return true }
        return retention.deletionRetryAt.map { $0 <= .now && (retention.removal == nil || retention.hasFailed) } ?? true
    }

    /// Whether what leaves waits for the merge that is under way.
    var waitsForMerge: Bool {
        guard isMerging, !hasMergeFailed, case .merging = retention.removal?.step else { return false }
        return true
    }

    /// Removes rows for a few milliseconds, or looks whether some are to leave.
    func performRemoval(maxDuration: Duration) {
        retention.failed = nil
        do {
            try removalSlice(until: .now + maxDuration)
            // While a deletion cannot be completed, what leaves of others says nothing about the rules.
            if retention.failedDeletions.isEmpty || retention.removal?.deletion == nil { retention.hasFailed = false }
        } catch {
            for table in tables { table.minutes?.rollBack() }
            // On a full disk, a log that begins again has room for the next attempt.
            checkpoint()
            guard !goOn(after: error) else { return }
            retention.retryAt = .now + Self.retryInterval
            if !retention.hasFailed { retention.settings.report?(.failed("\(StoreError(error, path: path))")) }
            retention.hasFailed = true
        }
    }

    /// Lets what leaves go on without the rows that could not be deleted, such as those of a damaged table. By the rules, samples
    /// leave without what was refined from them. What a person deletes is not done without it, but everything else of it leaves,
    /// and then the rules go on.
    /// - Returns: whether it goes on.
    private func goOn(after error: any Error) -> Bool {
        guard canBeLeftOut(error), let removal = retention.removal else { return false }
        if let row = removal.deletion {
            if let target = retention.failed {
                retention.removal?.leaveOut(target, because: error)
                return true
            }
            if retention.failedDeletions.insert(row.number).inserted {
                retention.settings.report?(.failed("\(StoreError(error, path: path))"))
            }
            retention.removal = nil
            deletions.postpone(row)
            retention.deletionRetryAt = .now + Self.deletionRetryInterval
            return true
        }
        guard let target = retention.failed, RefinedKind.allCases.contains(where: { $0.rowTable == target.table })
        else { return false }
        retention.removal?.leaveOut(target, because: error)
        reportUnreadable(target.table + target.key, error)
        return true
    }

    /// Whether the same would fail again, because a table is damaged or is not as it should be.
    func canBeLeftOut(_ error: any Error) -> Bool {
        guard let error = error as? SQLiteError else { return false }
        return error.isCorrupt || error.isWrongStatement
    }

    /// Reports that samples leave without what was refined from them: once, until it can be read again.
    func reportUnreadable(_ part: String, _ error: any Error) {
        guard retention.unreadable.insert(part).inserted else { return }
        retention.settings.report?(.refinedLeftOut("\(StoreError(error, path: path))"))
    }

    /// Removes in proportion to what the commits store, if they leave no time for it in between.
    func keepRemovalPace() {
        let end = ContinuousClock.now + Self.maxShare
        while retention.owed > RetentionState.maxOwed, .now < end {
            let owed = retention.owed
            if waitsForMerge {
                do { try mergeSlice(maxDuration: .milliseconds(2)) } catch { didFailToMerge(error) }
            } else if needsRemoval {
                performRemoval(maxDuration: .milliseconds(2))
            } else {
                return
            }
            retention.owed = min(retention.owed, max(0, owed - Self.leastPaid))
            if needsCheckpoint { checkpoint() }
        }
    }

    /// Adds the deletions of a group, before its samples.
    func write(_ requests: [Deletion]) throws(SQLiteError) {
        for deletion in requests {
            try deletions.add(deletion, of: devices.id(of: deletion.device), in: database)
        }
    }

    // MARK: What is not stored again

    /// Returns which samples of a series between two times are not stored, as the current transaction sees it; nil if none.
    /// - Parameters:
    ///   - parts: the parts of this range with samples.
    ///   - areNew: whether they arrive. Otherwise they have waited: what waits of a deletion is moved before it is deleted, and
    ///     what waits of a request that only refuses stays.
    func removedTimes(
        of table: Int, _ device: Int64, in times: ClosedRange<Int64>, parts: @autoclosure () -> [ClosedRange<Int64>],
        areNew: Bool
    ) throws(SQLiteError) -> RemovedTimes? {
        var removed = RemovedTimes()
        if areNew { removed.deleted = deletions.times(of: tables[table].stream, device, in: times) }
        if let limit = tables[table].kept[Int(device)], times.lowerBound < limit {
            removed.limit = limit
            removed.held = try heldRanges(of: table, device: device)
            if !removed.held.isEmpty, let minutes = tables[table].minutes {
                // What would be added to a minute of which only the summary is left may be in it already.
                var alone: [Range<Int64>] = []
                for part in parts() where part.lowerBound < limit {
                    let times = part.lowerBound..<min(limit - 1, part.upperBound) + 1
                    guard removed.held.contains(where: { $0.overlaps(times) }) else { continue }
                    alone += try minutes.standingAlone(device, in: times)
                }
                removed.held = removed.held.flatMap { Hold.free($0, of: alone) }
            }
        } else if removed.deleted.isEmpty {
            return nil
        }
        return removed
    }

    /// Records samples that are not stored, or have waited and do not reach their table, as part of the current transaction.
    func count(
        _ removed: [RemovedTimes.Reason: Int], areNew: Bool, of table: Int, _ device: Int64
    ) throws(SQLiteError) {
        for (reason, count) in removed {
            switch reason {
            case .deleted(let number): try deletions.count(refused: count, of: number, device, in: database)
            case .expired:
                guard let stream = tables[table].id, let limit = tables[table].kept[Int(device)] else { continue }
                try ExpiredTable.add(
                    samples: areNew ? 0 : count, late: areNew ? count : 0, of: device, stream: stream, before: limit,
                    in: database)
            }
        }
    }

    /// Returns whether minutes of a series keep their summaries when their samples leave.
    func keepsSummaries(of table: Int, device: Int64) throws(SQLiteError) -> Bool {
        guard !retention.summaryRules.isEmpty else { return false }
        let select = try database.prepare("SELECT group_name, device FROM _devices WHERE device_id = \(device)")
        guard try select.step(), let address = deviceAddress(select, at: 0) else { return false }
        return retention.summaryRules.hasRule(for: tables[table].stream.name, address)
    }

    /// Returns the ranges of a series that are held, as the current transaction sees them. Of a series that keeps its summaries,
    /// they are whole minutes, so that each minute has all of its samples or is a summary.
    func heldRanges(of table: Int, device: Int64) throws(SQLiteError) -> [Range<Int64>] {
        let holds: [(device: Int64, hold: Hold)]
        if let known = retention.holds { holds = known } else { holds = try HoldTable.read(in: database) }
        retention.holds = holds
        let ranges = holds.ranges(of: tables[table].stream.name, device: device)
        guard !ranges.isEmpty, try keepsSummaries(of: table, device: device) else { return ranges }
        return ranges.map(Minute.around)
    }

    // MARK: Slices

    private func removalSlice(until end: ContinuousClock.Instant) throws {
        try chooseRemoval()
        try countShares(until: end)
        guard var removal = retention.removal, removal.checks.isEmpty else { return }
        if let row = removal.deletion, case .merging(let count) = removal.step {
            guard count == 0 else {
                if !isMerging { try startMerge() }
                return
            }
            try begin(&removal, row)
            retention.removal = removal
        }
        if let failure = removal.finalFailure { throw failure }
        // A slice that a power failure undoes is repeated.
        try database.execute("PRAGMA synchronous = NORMAL")
        isSyncLowered = true
        defer { try? restoreSync() }
        if removal.isSecure { try database.execute("PRAGMA secure_delete = ON") }
        defer { if removal.isSecure { try? database.execute("PRAGMA secure_delete = FAST") } }
        let (samples, rows) = (removal.samples, removal.rows)
        var limits: [(series: Removal.Series, to: Int64)] = []
        try {
            defer { didChangeLogLength() }
            try database.transaction {
                retention.holds = nil
                defer { retention.holds = nil }
                // Some empty ranges more, so that the removal gets on whatever interrupts it.
                var steps = 0
                repeat {
                    retention.failed = removal.current
                    try removeNext(&removal, &limits, until: end)
                    steps += 1
                } while removal.step != .done && removal.finalFailure == nil
                    && (.now < end || removal.rows == rows && steps < 32)
                retention.failed = nil
            }
        }()
        for (series, limit) in limits { tables[series.table].keep(from: limit, device: series.device) }
        retention.removal = removal
        retention.owed = max(0, retention.owed - (removal.rows - rows))
        if removal.deletion == nil { retention.deleted += removal.samples - samples }
        if removal.step == .done { didEnd(removal) }
    }

    /// Begins with the rows of a deletion. If what was refined cannot be read, everything else leaves first.
    private func begin(_ removal: inout Removal, _ row: DeletionTable.Row) throws {
        var runs: [Int64: [(kind: RefinedKind, run: Int64)]] = [:]
        var failure: (any Error)?
        do { runs = try refinedRuns() } catch {
            guard canBeLeftOut(error) else { throw error }
            failure = error
        }
        removal.begin(try targets(of: row, refined: runs[row.device] ?? []), without: failure)
    }

    /// A deletion goes before the rules, unless what waits cannot be merged: on a full disk, the rules may make room.
    private func chooseRemoval() throws {
        if let removal = retention.removal, removal.deletion != nil {
            guard case .merging = removal.step, hasMergeFailed else { return }
            retention.removal = nil
        }
        if let row = deletions.pending(after: retention.failedDeletions), isDeletionDue {
            if retention.removal != nil { retention.applyRulesAgain() }
            let waits = [waiting.open, waiting.frozen].map { $0.devices[Int(row.device)] != nil }
            let merges = waits[0] ? (isMerging ? 2 : 1) : (waits[1] ? 1 : 0)
            retention.removal = Removal(.deletion(row), step: .merging(merges))
        } else if retention.removal == nil, !retention.settings.keepsEverything {
            try startPass()
        }
    }

    /// Counts whether too much would leave.
    private func countShares(until end: ContinuousClock.Instant) throws {
        while let check = retention.removal?.checks.first, let part = check.part, .now < end {
            let limit = 20_000
            let key = "device_id = \(part.device) AND t >= \(part.times.lowerBound) AND t < \(part.times.upperBound)"
            let select = try database.prepare(
                """
                SELECT count(*), max(t) FROM (
                    SELECT t FROM \(tables[check.table].stream.rowTable) WHERE \(key) ORDER BY t LIMIT \(limit))
                """)
            guard try select.step() else { return }
            let failed = retention.removal?.didCount(
                Int(select.int64(at: 0)), last: select.optionalInt64(at: 1), limit: limit)
            if let failed = failed.flatMap({ $0 }) {
                refuse(failed)
            } else if retention.removal?.checks.first?.table != check.table {
                retention.refusals[check.table] = nil
            }
        }
    }

    /// Removes one piece, or ends a target, as part of the current transaction.
    private func removeNext(
        _ removal: inout Removal, _ limits: inout [(series: Removal.Series, to: Int64)],
        until end: ContinuousClock.Instant
    ) throws {
        guard let target = removal.current else { return try complete(&removal, until: end) }
        let isByRule = removal.deletion == nil
        var held: [Range<Int64>] = []
        if isByRule, let series = target.series { held = try heldRanges(of: series.table, device: series.device) }
        guard var range = removal.piece(holds: held) else {
            if isByRule, target.isSamples, let series = target.series, let stream = tables[series.table].id {
                try ExpiredTable.add(
                    of: series.device, stream: stream, before: target.range.upperBound, in: database)
                limits.append((series, target.range.upperBound))
            }
            return removal.endTarget()
        }
        let column = target.column
        let rest = "\(target.key) AND \(column) >= \(range.lowerBound) AND \(column) <"
        // The minutes of the piece that are to have summaries, or nil if their summaries leave as well.
        var summarised: Range<Int64>?
        if isByRule, target.isSamples, let series = target.series,
            try keepsSummaries(of: series.table, device: series.device)
        {
            let first = try database.prepare(
                "SELECT \(column) FROM \(target.table) WHERE \(rest) \(range.upperBound) ORDER BY \(column) LIMIT 1")
            let minute = try first.step() ? Minute.start(of: first.int64(at: 0)) : range.upperBound
            let end = min(range.upperBound, minute.addingReportingOverflow(Removal.summarisedLength).partialValue)
            range = range.lowerBound..<end
            summarised = min(minute, end)..<end
        }
        let parts = try parts(of: target, in: range)
        let stop = parts.map(\.upperBound).max() ?? range.upperBound
        // Before this time, samples are not stored any more: a minute whose summary stays has left as a whole, even if the last of
        // its rows leave later.
        var limit = stop
        if let summarised, let series = target.series {
            limit = Minute.around(range.lowerBound..<stop).upperBound
            if !summarised.isEmpty {
                // For space, a summary that is larger than its rows is not worth it.
                let isForSpace = if case .space = removal.reason { true } else { false }
                try tables[series.table].minutes?.complete(
                    series.device, summarised.lowerBound..<limit, sums, least: isForSpace ? 8 : 1)
            }
        } else if target.isSamples, let series = target.series {
            try tables[series.table].minutes?.willRemove(
                range.lowerBound...max(range.lowerBound, stop - 1), of: series.device)
        }
        if let row = removal.deletion, let series = target.series,
            case let stream = tables[series.table].stream, target.table == stream.minutesTable
        {
            let alone = try database.integer(
                """
                SELECT ifnull(sum(samples), 0) FROM \(target.table) AS minute
                WHERE \(rest) \(min(stop, tables[series.table].kept[Int(series.device)] ?? .min))
                    AND \(stream.isAlone)
                """)
            try deletions.count(deleted: Int(alone), of: row.number, row.device, in: database)
        }
        let delete = try database.prepare(
            """
            DELETE FROM \(target.table) WHERE \(target.key) AND \(column) >= ? AND \(column) < ?
                \(target.condition.map { "AND \($0)" } ?? "")
            """)
        var count = 0
        for part in parts {
            try delete.bind(part.lowerBound, at: 1)
            try delete.bind(part.upperBound, at: 2)
            try delete.run()
            count += database.changes
        }
        retention.unreadable.remove(target.table + target.key)
        if count > 0, target.isSamples, let series = target.series {
            if let row = removal.deletion {
                try deletions.count(deleted: count, of: row.number, row.device, in: database)
            } else if let stream = tables[series.table].id {
                try ExpiredTable.add(
                    samples: count, of: series.device, stream: stream, before: limit, in: database)
                limits.append((series, limit))
            }
        }
        if count > 0, target.table == "conflicts" { conflicts.forgetCount() }
        removal.didRemove(count, before: stop)
    }

    /// Returns the parts of the next piece of a range, in an order in which most of its pages become free without being written.
    ///
    /// When less than a third of a page is left, SQLite distributes its rows and those of both neighbours anew. If two pages are
    /// enough, the third becomes free as it was, and is not written. This happens often if the page before has room. So two thirds
    /// of a page stay until ten pages after them have left. From the first row to the last, nearly all pages would be written.
    private func parts(of target: Removal.Target, in range: Range<Int64>) throws(SQLiteError) -> [Range<Int64>] {
        // Other rows are about as large.
        let rowSize = target.series.map { tables[$0.table].stream.rowSize } ?? SensorStream.accelerometer.rowSize
        let page = max(2, pageSize / rowSize)
        let rest = page * 2 / 3
        let select = try database.prepare(
            """
            SELECT \(target.column) FROM \(target.table) WHERE \(target.key)
                AND \(target.column) >= \(range.lowerBound) AND \(target.column) < \(range.upperBound)
            ORDER BY \(target.column) LIMIT \(Removal.pieceSize + 1)
            """)
        var bounds = [range.lowerBound]
        var end = range.upperBound
        var row = 0
        while try select.step() {
            let place = row % (rest + 10 * page)
            if row == Removal.pieceSize {
                // Conflicts may have the same time.
                end = max(select.int64(at: 0), range.lowerBound + 1)
            } else if place == rest || place == 0 && row > 0 {
                bounds.append(select.int64(at: 0))
            }
            row += 1
        }
        let parts = zip(bounds, bounds.dropFirst() + [end]).map { $0..<$1 }
        return parts.indices.map { $0 ^ 1 < parts.count ? parts[$0 ^ 1] : parts[$0] }
    }

    /// Ends a removal whose rows are gone, as part of the current transaction.
    private func complete(_ removal: inout Removal, until end: ContinuousClock.Instant) throws {
        guard let row = removal.deletion else {
            removal.step = .done
            return
        }
        if removal.isSecure {
            // Nothing of its times comes back meanwhile.
            if removal.step == .rows { removal.step = .filling }
            if removal.step == .filling, try fillFreePages(until: end) { removal.step = .clearing }
            guard removal.step == .clearing, try deleteZeros(until: end) else { return }
        }
        removal.step = .done
        try database.execute(
            "UPDATE deletions SET done = \(Moment.now().wall.microseconds) WHERE deletion_id = \(row.number)")
        try updateNewest(of: row.device)
    }

    private func didEnd(_ removal: Removal) {
        retention.removal = nil
        retention.owed = 0
        if let row = removal.deletion {
            deletions.didComplete(row)
            retention.failedDeletions.remove(row.number)
            if retention.failedDeletions.isEmpty { retention.deletionRetryAt = nil }
            // The log has the deleted content until it is written again.
            if removal.isSecure { try? truncateLog() }
            return
        }
        let isForSpace = if case .space = removal.reason { true } else { false }
        if isForSpace { retention.due = .now }
        if removal.samples > 0 {
            retention.settings.report?(.expired(samples: removal.samples, isForSpace: isForSpace))
        }
    }

    /// Corrects the time of a device's newest sample.
    private func updateNewest(of device: Int64) throws(SQLiteError) {
        var newest: [String] = []
        for table in tables where table.id != nil {
            for name in [table.stream.rowTable, table.stream.minutesTable]
            where try StoreSchema.storedSQL(of: name, in: database) != nil {
                newest.append("SELECT max(t) AS t FROM \(name) WHERE device_id = \(device)")
            }
        }
        guard !newest.isEmpty else { return }
        try database.execute(
            """
            UPDATE _devices SET last_t = (SELECT max(t) FROM (\(newest.joined(separator: " UNION ALL "))))
            WHERE device_id = \(device)
            """)
    }
}
