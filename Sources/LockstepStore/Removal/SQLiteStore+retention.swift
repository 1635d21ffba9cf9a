import Glibc
import LockstepModel
import LockstepSQLite

// Which samples are to leave by the rules of retention, or because the store is too large, and how large it is.

extension SQLiteStore {
    /// The space in bytes that is kept free on the disk of a store with retention, for a checkpoint and the log of a removal.
    static let reserve: Int64 = 8 << 20

    /// Refuses a transaction that lets the file grow when nothing else would fit on its disk: then the log could neither be
    /// written to the file nor take a removal, and the store could not make room by itself.
    func checkRoom() throws {
        guard !retention.settings.keepsEverything, let free = retention.settings.freeSpace(path) else { return }
        let size = FileStatus(path: realPath(path)).map { Int64($0.size) } ?? 0
        let growth = try database.integer("PRAGMA page_count") * Int64(pageSize) - size
        isRoomScarce = growth > 0 && free < growth + 2 * Self.reserve
        guard growth > 0, free < growth + Self.reserve else { return }
        throw StoreError(
            .full,
            "only \(free >> 20) MB are left on the disk of \(path), which are needed to delete samples by --keep or "
                + "--max-store, so nothing was written: free some space")
    }

    func refuse(_ check: ShareCheck) {
        let refusal = Retention.Refusal(
            stream: tables[check.table].stream.name, samples: check.samples, others: check.others)
        if retention.refusals[check.table] == nil { retention.settings.report?(.refused(refusal)) }
        retention.refusals[check.table] = (refusal, check.to)
    }

    // MARK: What is to leave

    func startPass() throws {
        let interval = retention.settings.interval
        retention.due = .now + (retention.settings.maxSize == nil ? interval : min(interval, .seconds(2)))
        guard let now = KeepRules.now(collector: retention.settings.wallTime(), newest: try newestTimes().values) else {
            return
        }
        if retention.settings.hasAges, .now >= retention.rulesDue {
            retention.rulesDue = .now + interval
            retention.removal = try removalByRules(at: now)
        }
        if retention.removal == nil, try isTooLarge() { retention.removal = try removalForSpace(at: now) }
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
    private func removalByRules(at now: Int64) throws -> Removal? {
        let rules = retention.settings.rules
        let holds = try HoldTable.read(in: database).map(\.hold)
        // Samples of a hold that was removed leave, and those of earlier runs of the program that waited.
        let isComplete = retention.appliedHolds != holds
        retention.appliedHolds = holds
        let addresses = devices.addresses.sorted { $0.key < $1.key }
        let runs = try readableRuns()
        var targets: [Removal.Target] = []
        var checks: [ShareCheck] = []
        for table in tables.indices {
            let stream = tables[table].stream.name
            var limits: [(device: Int64, to: Int64)] = []
            var far: Set<Int64> = []
            var leaving: [Removal.Target] = []
            let hasSummaries = try StoreSchema.storedSQL(of: tables[table].stream.minutesTable, in: database) != nil
            var summaryLimits: [Removal.Series: Int64] = [:]
            for (device, address) in addresses {
                let known = tables[table].kept[Int(device)]
                let series = Removal.Series(table: table, device: device)
                // After the rows: those whose hold was removed get a summary, which may be over its age as well.
                defer {
                    if hasSummaries, let known,
                        let limit = retention.settings.summaryLimit(of: stream, address, at: now, samples: known),
                        isComplete || limit != retention.summaryLimits[series]
                    {
                        summaryLimits[series] = limit
                        leaving.append(summaries(of: series, KeepRules.earliest..<max(limit, KeepRules.earliest)))
                    }
                }
                guard let age = rules.age(of: stream, address) else {
                    limits.append((device, known ?? .min))
                    continue
                }
                let limit = KeepRules.limit(ofAge: age, at: now)
                let to = max(limit, known ?? .min)
                limits.append((device, to))
                if isComplete || to != known {
                    leaving += self.targets(
                        of: series, KeepRules.earliest..<max(to, KeepRules.earliest),
                        refined: (runs[device] ?? []).filter { $0.kind.standsFor == stream })
                }
                if known.map({ limit - $0 > age / 2 }) ?? true { far.insert(device) }
            }
            if !far.isEmpty, !retention.settings.isConfirmed, tables[table].id != nil {
                let check = ShareCheck(table: table, limits: limits, far: far)
                if retention.refusals[table]?.to == check.to { continue }
                checks.append(check)
            }
            targets += leaving
            retention.summaryLimits.merge(summaryLimits) { $1 }
        }
        return targets.isEmpty ? nil : Removal(.rules, targets, checks: checks)
    }

    /// Returns what `lockstep refine` has computed, or nothing if its tables cannot be read: the samples leave nevertheless.
    private func readableRuns() throws -> [Int64: [(kind: RefinedKind, run: Int64)]] {
        let table = "refined_runs"
        do {
            let runs = try refinedRuns()
            retention.unreadable.remove(table)
            return runs
        } catch {
            guard canBeLeftOut(error) else { throw error }
            reportUnreadable(table, error)
            return [:]
        }
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
    private func removalForSpace(at now: Int64) throws -> Removal? {
        // Whole minutes leave, see Retention.summaryRules.
        let last = Minute.start(of: now - 3_600_000_000)
        let ids = devices.addresses.keys.sorted()
        let runs = try readableRuns()
        var streams: [(table: Int, name: String, rate: Double)] = []
        for table in tables.indices where tables[table].id != nil {
            let stream = tables[table].stream
            let newest = try database.prepare(
                """
                SELECT ifnull(count(*) * 1.0 / nullif(max(t) - min(t), 0), 0) FROM (
                    SELECT t FROM \(stream.rowTable) WHERE device_id = ? ORDER BY t DESC LIMIT 100)
                """)
            var rate = 0.0
            for device in ids.prefix(50) {
                defer { newest.reset() }
                try newest.bind(device, at: 1)
                if try newest.step() { rate += newest.double(at: 0) }
            }
            streams.append((table, stream.name, rate * Double(stream.rowSize)))
        }
        for table in RetentionState.order(streams, by: retention.settings.order) {
            let stream = tables[table].stream
            let select = try database.prepare(
                "SELECT min(t) FROM \(stream.rowTable) WHERE device_id = ? AND t >= ?")
            var oldest: [(device: Int64, time: Int64)] = []
            for device in ids {
                defer { select.reset() }
                try select.bind(device, at: 1)
                try select.bind(max(tables[table].kept[Int(device)] ?? .min, KeepRules.earliest), at: 2)
                if try select.step(), let time = select.optionalInt64(at: 0) { oldest.append((device, time)) }
            }
            guard let first = oldest.map(\.time).min(), first < last else { continue }
            let to = min(last, Minute.start(of: first + max((now - first) / 50, 2 * Minute.length)))
            let targets = oldest.filter { $0.time < to }.flatMap { series in
                self.targets(
                    of: .init(table: table, device: series.device), KeepRules.earliest..<to,
                    refined: (runs[series.device] ?? []).filter { $0.kind.standsFor == stream.name })
            }
            return Removal(.space, targets)
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
            let locks = KernelFile.text("/proc/locks") ?? ""
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
