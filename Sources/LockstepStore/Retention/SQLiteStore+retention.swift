import Glibc
import LockstepModel
import LockstepSQLite

// Samples that leave by the rules of retention, or because the store is too large. They are deleted in short transactions between
// the commits. Each transaction raises the limit of its series in `expired` over what it deletes, so that it is known as expired,
// and not accepted again.

extension SQLiteStore {
    /// The duration for which a transaction of a busy collector deletes at most.
    private static let maxShare = Duration.milliseconds(10)
    /// The number of stored samples from which a busy collector deletes as many.
    private static let maxOwed = 50_000
    /// The number of samples that a check counts at once.
    private static let countSize = 20_000

    /// Whether samples are to leave, or a look whether some are is due.
    var needsRetention: Bool {
        guard !retention.settings.keepsEverything, !retention.hasFailed else { return false }
        return retention.pass != nil || ContinuousClock.now >= retention.due
    }

    /// Deletes samples for a few milliseconds, or looks whether some are to leave.
    func performRetention(maxDuration: Duration) {
        do { try retentionSlice(until: .now + maxDuration) } catch {
            retention.hasFailed = true
            retention.pass = nil
            retention.due = .now + .seconds(10)
            retention.rulesDue = retention.due
            retention.settings.report?(.failed("\(StoreError(error, path: path))"))
        }
    }

    /// Deletes in proportion to what the commits store, if they leave no time for it in between.
    func keepRetentionPace() {
        guard retention.pass != nil, !retention.hasFailed, retention.owed > Self.maxOwed else { return }
        let end = ContinuousClock.now + Self.maxShare
        while retention.pass != nil, !retention.hasFailed, retention.owed > Self.maxOwed, .now < end {
            performRetention(maxDuration: .milliseconds(2))
        }
    }

    /// Returns the ranges of a series that are held, as the current transaction sees them.
    func heldRanges(of table: Int, device: Int64) throws(SQLiteError) -> [Range<Int64>] {
        let holds: [(device: Int64, hold: Hold)]
        if let known = retention.holds { holds = known } else { holds = try HoldTable.read(in: database) }
        retention.holds = holds
        return holds.ranges(of: tables[table].stream.name, device: device)
    }

    /// Records samples that arrived after their time, or waited for so long, as part of the current transaction.
    func didExpire(_ count: Int, isStored: Bool, table: Int, device: Int64) throws(SQLiteError) {
        guard count > 0, let stream = tables[table].id, let limit = tables[table].kept[Int(device)] else { return }
        try retention.expired?.add(
            samples: isStored ? count : 0, late: isStored ? 0 : count, of: device, stream: stream, before: limit)
    }

    private func retentionSlice(until end: ContinuousClock.Instant) throws {
        if retention.pass == nil { try startPass() }
        while let check = retention.pass?.checks.first, let part = check.part {
            guard .now < end else { return }
            let counted = try statements(of: check.table).count(part.device, part.times, limit: Self.countSize)
            let failed = retention.pass?.didCount(counted.count, last: counted.last, limit: Self.countSize)
            if let failed = failed.flatMap({ $0 }) {
                refuse(failed)
            } else if retention.pass?.checks.first?.table != check.table {
                retention.refusals[check.table] = nil
            }
        }
        guard var pass = retention.pass else { return }
        if !pass.isDone {
            // What is deleted again after a power cut is the same.
            try database.execute("PRAGMA synchronous = NORMAL")
            isSyncLowered = true
        }
        defer { try? restoreSync() }
        let before = pass.samples
        var limits: [RetentionPass.Series] = []
        if !pass.isDone {
            defer { didChangeLogLength() }
            try database.transaction {
                retention.holds = nil
                defer { retention.holds = nil }
                repeat { try deleteNext(&pass, &limits) } while !pass.isDone && .now < end
            }
        }
        for series in limits { tables[series.table].keep(from: series.to, device: series.device) }
        retention.pass = pass
        retention.deleted += pass.samples - before
        retention.owed = max(0, retention.owed - (pass.samples - before))
        if pass.isDone { endPass(pass) }
    }

    private func endPass(_ pass: RetentionPass) {
        retention.pass = nil
        retention.owed = 0
        if pass.isForSpace { retention.due = .now }
        if pass.samples > 0 {
            retention.settings.report?(.expired(samples: pass.samples, isForSpace: pass.isForSpace))
        }
    }

    private func refuse(_ check: ShareCheck) {
        let refusal = Retention.Refusal(
            stream: tables[check.table].stream.name, samples: check.samples, others: check.others)
        if retention.refusals[check.table] == nil { retention.settings.report?(.refused(refusal)) }
        retention.refusals[check.table] = (refusal, check.to)
    }

    /// Deletes one piece, or ends a series, as part of the current transaction.
    private func deleteNext(_ pass: inout RetentionPass, _ limits: inout [RetentionPass.Series]) throws {
        guard let series = pass.current, let stream = tables[series.table].id else { return pass.endSeries() }
        guard let piece = pass.piece(holds: try heldRanges(of: series.table, device: series.device)) else {
            try retention.expired?.raise(series.device, stream: stream, to: series.to)
            limits.append(series)
            return pass.endSeries()
        }
        let statements = try statements(of: series.table)
        let found = try statements.count(series.device, piece.times, limit: RetentionPass.pieceSize)
        let isLast = found.count < RetentionPass.pieceSize
        let times = piece.times.lowerBound..<(isLast ? piece.times.upperBound : (found.last ?? 0) + 1)
        if found.count > 0 {
            try statements.delete(series.device, times)
            try retention.expired?.add(
                samples: found.count, of: series.device, stream: stream, before: times.upperBound)
            limits.append(.init(table: series.table, device: series.device, to: times.upperBound))
        }
        try deleteDerived(from: tables[series.table].stream.name, series.device, times)
        pass.didDelete(found.count, before: times.upperBound)
    }

    /// Deletes the conflicts and the refined rows of a stream of a device, as part of the current transaction.
    private func deleteDerived(from stream: String, _ device: Int64, _ times: Range<Int64>) throws {
        try conflicts.delete(stream, device: device, times, in: database)
        guard let kind = RefinedKind.allCases.first(where: { $0.source == stream }),
            try StoreSchema.storedSQL(of: kind.rowTable, in: database) != nil
        else { return }
        try database.execute(
            """
            DELETE FROM \(kind.rowTable) WHERE t >= \(times.lowerBound) AND t < \(times.upperBound) AND run_id IN (
                SELECT run_id FROM refined_runs WHERE kind = '\(kind.rawValue)' AND device_id = \(device))
            """)
    }

    private func statements(of table: Int) throws(SQLiteError) -> RetentionState.Statements {
        try retention.statements(of: table, tables[table].stream.rowTable, in: database)
    }

    // MARK: What is to leave

    private func startPass() throws {
        let interval = retention.settings.interval
        retention.due = .now + (retention.settings.maxSize == nil ? interval : min(interval, .seconds(2)))
        guard let now = KeepRules.now(collector: retention.settings.wallTime(), newest: try newestTimes().values) else {
            return
        }
        if !retention.settings.rules.keepsEverything, .now >= retention.rulesDue {
            retention.rulesDue = .now + interval
            retention.pass = try passByRules(at: now)
        }
        if retention.pass == nil, try isTooLarge() { retention.pass = try passForSpace(at: now) }
    }

    /// The time of the newest sample of each device, also of those that wait.
    private func newestTimes() throws(SQLiteError) -> [Int64: Int64] {
        var newest: [Int64: Int64] = [:]
        let select = try database.prepare("SELECT device_id, last_t FROM _devices WHERE last_t IS NOT NULL")
        while try select.step() { newest[select.int64(at: 0)] = select.int64(at: 1) }
        for index in [waiting.open, waiting.frozen] {
            for device in index.devices.keys {
                guard let time = index.devices[device]?.figures.newest else { continue }
                newest[Int64(device)] = max(newest[Int64(device)] ?? time, time)
            }
        }
        return newest
    }

    /// Returns what leaves by the rules, or nil if nothing does.
    private func passByRules(at now: Int64) throws -> RetentionPass? {
        let rules = retention.settings.rules
        let holds = try HoldTable.read(in: database).map(\.hold)
        // Samples of a hold that was removed leave, and those of earlier runs of the program that waited.
        let isComplete = retention.appliedHolds != holds
        retention.appliedHolds = holds
        let addresses = devices.addresses
        var series: [RetentionPass.Series] = []
        var checks: [ShareCheck] = []
        for table in tables.indices where tables[table].id != nil {
            var limits: [(device: Int64, to: Int64)] = []
            var far: Set<Int64> = []
            for (device, address) in addresses {
                let known = tables[table].kept[Int(device)]
                guard let age = rules.age(of: tables[table].stream.name, address) else {
                    limits.append((device, known ?? .min))
                    continue
                }
                let limit = KeepRules.limit(ofAge: age, at: now)
                let to = max(limit, known ?? .min)
                limits.append((device, to))
                if isComplete || to != known { series.append(.init(table: table, device: device, to: to)) }
                if known.map({ limit - $0 > age / 2 }) ?? true { far.insert(device) }
            }
            guard !far.isEmpty, !retention.settings.isConfirmed else { continue }
            let check = ShareCheck(table: table, limits: limits, far: far)
            if retention.refusals[table]?.to == check.to {
                series.removeAll { $0.table == table }
            } else {
                checks.append(check)
            }
        }
        return series.isEmpty ? nil : RetentionPass(series, checks: checks)
    }

    /// Whether the content of the store is larger than its limit, or leaves until it is one percent smaller.
    private func isTooLarge() throws -> Bool {
        guard let limit = retention.settings.maxSize?.content(onDisk: diskSpace(at: path)?.size) else { return false }
        let size = try contentSize()
        retention.isShedding = size > (retention.isShedding ? limit / 100 * 99 : limit)
        if !retention.isShedding { retention.isTooSmall = false }
        return retention.isShedding
    }

    /// Returns the oldest samples of the stream that leaves first, or nil if only the newest hour of all is left.
    private func passForSpace(at now: Int64) throws -> RetentionPass? {
        let hour: Int64 = 3_600_000_000
        let ids = devices.addresses.keys.sorted()
        var streams: [(table: Int, name: String, rate: Double)] = []
        for table in tables.indices where tables[table].id != nil {
            let statements = try statements(of: table)
            var rate = 0.0
            for device in ids.prefix(50) { rate += try statements.rate(device) }
            streams.append((table, tables[table].stream.name, rate * Double(tables[table].stream.rowSize)))
        }
        for table in RetentionState.order(streams, by: retention.settings.order) {
            var oldest: [(device: Int64, time: Int64)] = []
            let statements = try statements(of: table)
            for device in ids {
                let from = max(tables[table].kept[Int(device)] ?? .min, KeepRules.earliest)
                if let time = try statements.oldest(device, from: from) { oldest.append((device, time)) }
            }
            guard let first = oldest.map(\.time).min(), first < now - hour else { continue }
            let to = min(now - hour, first + max((now - first) / 50, 60_000_000))
            return RetentionPass(
                oldest.filter { $0.time < to }.map { .init(table: table, device: $0.device, to: to) }, isForSpace: true)
        }
        if !retention.isTooSmall { retention.settings.report?(.tooSmall) }
        retention.isTooSmall = true
        return nil
    }

    // MARK: Space

    /// The size of the pages with content, in bytes.
    private func contentSize() throws(SQLiteError) -> Int64 {
        (try database.integer("PRAGMA page_count") - database.integer("PRAGMA freelist_count")) * Int64(pageSize)
    }

    /// Returns the size of the store, and what leaves it. Call it about every ten seconds.
    public func space() -> StoreSpace? {
        guard let content = try? contentSize(), let free = try? database.integer("PRAGMA freelist_count") else {
            return nil
        }
        // With the pages that are only in the log yet.
        let file = content + free * Int64(pageSize)
        let boot = Moment.now().boot
        let disk = diskSpace(at: path)
        let limit = retention.settings.maxSize?.content(onDisk: disk?.size)
        retention.forecast.record(content, at: boot)
        let room = min(
            limit.map { $0 - content } ?? .max, disk.map { $0.free + free * Int64(pageSize) } ?? .max)
        let full = retention.forecast.time(until: room).map {
            Timestamp(microseconds: retention.settings.wallTime() + $0)
        }
        reportFilling(full, at: boot)
        if let shared = FileIdentity(path: realPath(path) + "-shm") {
            let locks = kernelText("/proc/locks")
            retention.readers.record(
                LogReaders.processes(in: locks, inode: shared.inode, except: getpid()), at: boot)
        }
        return StoreSpace(
            file: file, log: FileStatus(path: realPath(path) + "-wal")?.size ?? 0,
            free: free * Int64(pageSize), limit: limit, fullAt: full, expired: retention.deleted, late: retention.late,
            refusals: retention.refusals.sorted { $0.key < $1.key }.map(\.value.refusal),
            reader: isLogPinned ? retention.readers.oldest(at: boot) : nil)
    }

    private func reportFilling(_ full: Timestamp?, at boot: Int64) {
        let day: Int64 = 86_400_000_000
        guard let full, full.microseconds < retention.settings.wallTime() + 7 * day,
            retention.reportedFull.map({ boot - $0 > day }) ?? true
        else { return }
        retention.reportedFull = boot
        retention.settings.report?(.fillingUp(full))
    }
}

extension RefinedKind {
    /// The stream with whose samples refined rows leave.
    fileprivate var source: String {
        switch self {
        case .attitude: "motion/device"
        case .steps: "steps"
        case .location: "location"
        }
    }
}
