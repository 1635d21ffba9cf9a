import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Random retention", .temporaryFolder)
struct RandomRetentionTests {
    private static let day: Int64 = 86_400_000_000
    private static let age = 40 * day
    private static let summaryAge = 200 * day

    /// What a year has sent and held.
    private struct Year {
        var random: SplitMix64
        /// The times that each device has sent, in µs since 1970.
        var sent: [String: Set<Int64>] = [:]
        /// The active holds of each device.
        var holds: [(id: Int64, device: String, times: Range<Int64>)] = []
        /// What a person has deleted of each device.
        var deleted: [(device: String, times: Range<Int64>)] = []
        var seqs: [String: Int64] = [:]

        init(seed: UInt64) { random = SplitMix64(seed: seed) }

        mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        mutating func batch(_ name: String, _ offsets: [Int64]) -> ReceivedBatch {
            seqs[name, default: 0] += 1
            sent[name, default: []].formUnion(offsets.map { $0 + start })
            return received(acceleration(offsets), from: device(name), seq: seqs[name])
        }

        /// The times that a device must have at the end.
        /// - Parameter minutes: whether whole minutes are held.
        func kept(_ name: String, from limit: Int64, minutes: Bool = false) -> Set<Int64> {
            let held = holds.filter { $0.device == name }.map { minutes ? Minute.around($0.times) : $0.times }
            return (sent[name] ?? []).filter { time in
                !deleted.contains { $0.device == name && $0.times.contains(time) }
                    && (time >= limit || held.contains { $0.contains(time) })
            }
        }

        /// The averages of a device by hour, computed from its samples.
        func averages(_ name: String, of times: Set<Int64>) -> [Int64: [Double]] {
            let cut = deleted.filter { $0.device == name }.flatMap { [$0.times.lowerBound, $0.times.upperBound] }
                .filter { $0 % Minute.length != 0 }.map { Minute.start(of: $0) }
            var hours: [Int64: [Double]] = [:]
            for (hour, times) in Dictionary(grouping: times, by: { $0 / 3_600_000_000 }) {
                // What is left of a minute that a deletion divides depends on when its samples left.
                guard !cut.contains(where: { $0 / 3_600_000_000 == hour }) else { continue }
                let sum = times.reduce(0.0) { $0 + Double($1 - start) }
                hours[hour] = [sum / Double(times.count), 0.5, -1, Double(times.count)]
            }
            return hours
        }
    }

    @Test(
        "after a year of late samples, holds, deletions, failures, full disks and kills, the rows are those of the rule, the file is not larger than what it has kept, and the averages by hour are those of all samples if summaries stay",
        arguments: [false, true])
    func year(keepsSummaries: Bool) throws {
        let seed = ProcessInfo.processInfo.environment["LOCKSTEP_SEED"].flatMap(UInt64.init) ?? .random(in: 0...9_999)
        print("random retention: LOCKSTEP_SEED=\(seed)")
        let path = TemporaryFolder.path + "/store"
        let clock = SimulatedClock()
        let space = FreeSpace()
        var year = Year(seed: seed)
        var store = try open(path, clock, space, keepsSummaries)
        let reader = try SQLiteDatabase(path: path, mode: .readOnly)
        var sizes: [FileSize] = []
        /// What a full disk has refused, which is sent again.
        var unsent: [ReceivedBatch] = []
        var refusals = 0
        for day in 0..<365 as Range<Int64> {
            clock.set(start + (day + 1) * Self.day)
            // Not before the stream has its table.
            let isFull = year.chance(10) && day > 0
            if isFull { store.checkpoint() }
            space.set(isFull ? 0 : 1 << 40)
            var batches = unsent
            unsent = []
            for name in ["one", "two", "three"] {
                // A device may be away for a week, and sends small or large batches, and late ones.
                guard day % 50 > 7 || name != "two" else { continue }
                let count: Int64 = year.chance(50) ? 120 : 30
                let first = day * Self.day + Int64.random(in: 0..<1_000_000, using: &year.random)
                batches.append(year.batch(name, (0..<count).map { first + $0 * (Self.day / 130) }))
                if year.chance(15) {
                    let late = max(0, day - Int64.random(in: 1...60, using: &year.random)) * Self.day
                    var offsets: [Int64] = []
                    for index in 0..<10 as Range<Int64> {
                        offsets.append(late + index * 7001 + Int64.random(in: 0..<7000, using: &year.random))
                    }
                    batches.append(year.batch(name, offsets))
                }
            }
            for batch in batches {
                do {
                    let result = try store.write(IngestGroup(batches: [batch]))
                    // All late samples are of one minute, of which only the summary may be left although it is held.
                    if keepsSummaries, result.devices[batch.device]?.expired ?? 0 > 0 {
                        year.sent[batch.device.device.rawValue]?.subtract(batch.batch.samples.times)
                    }
                } catch let error as StoreError where error.isFull {
                    unsent.append(batch)
                    refusals += 1
                }
            }
            sizes.append(try FileSize(day, reader))
            try changeHolds(&year, day, path)
            if year.chance(4), !isFull { try delete(&year, day, store) }
            switch Int.random(in: 0..<10, using: &year.random) {
            case 0:
                // As killed in the middle of whatever it does.
                store.retention.due = .now
                store.retention.rulesDue = .now
                for _ in 0..<Int.random(in: 1...4, using: &year.random) { store.performRemoval(maxDuration: .zero) }
                withExtendedLifetime(consume store) {}
                store = try open(path, clock, space, keepsSummaries)
            case 1:
                try store.database.execute("UPDATE trap SET armed = 1")
                store.applyRetention()
                try store.database.execute("UPDATE trap SET armed = 0")
                if !isFull { try store.write(IngestGroup()) }
            case 2: if !store.isMerging { try store.startMerge() }
            case 3, 4: for _ in 0..<3 { try store.mergeSlice(maxDuration: .zero) }
            case 5: try store.mergeAll()
            default: store.applyRetention()
            }
        }
        space.set(1 << 40)
        for batch in unsent { try store.write(IngestGroup(batches: [batch])) }
        #expect(refusals > 0)
        while store.needsMaintenance { store.performMaintenance() }
        #expect(store.deletions.pending(after: []) == nil)
        try store.mergeAll()
        store.retention.appliedHolds = nil
        store.applyRetention()
        let now = KeepRules.now(collector: clock.now, newest: year.sent.values.compactMap { $0.max() }) ?? 0
        let limit = KeepRules.limit(ofAge: Self.age, at: now)
        for name in ["one", "two", "three"] {
            let rows = try reader.rows(
                "SELECT t FROM accelerometer JOIN devices USING (device_id) WHERE device = '\(name)' ORDER BY t")
            let kept = year.kept(name, from: limit, minutes: keepsSummaries)
            #expect(rows == kept.sorted().map(String.init), "seed \(seed), \(name)")
            if keepsSummaries {
                try checkAverages(
                    year, name, from: KeepRules.limit(ofAge: Self.summaryAge, at: now), StoreReader(path: path))
            }
        }
        #expect(try StoreReader(path: path).devices().allSatisfy { $0.missing == 0 })
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
        // A person who repeats a year looks at the file over time.
        if ProcessInfo.processInfo.environment["LOCKSTEP_SEED"] != nil { sizes.forEach { print($0.text) } }
        // Pages that are not used again make the file several times as large.
        let most = sizes.map(\.used).max() ?? 0
        #expect((sizes.last?.pages ?? 0) * 10 <= most * 11, "seed \(seed): \(sizes)")
    }

    /// The size of a store at the end of a day.
    private struct FileSize {
        let day: Int64
        let pages: Int64
        let used: Int64
        let rows: Int64

        init(_ day: Int64, _ reader: SQLiteDatabase) throws {
            self.day = day
            pages = try reader.integer("PRAGMA page_count")
            used = pages - (try reader.integer("PRAGMA freelist_count"))
            rows = try reader.integer("SELECT count(*) FROM accelerometer")
        }

        /// `day  pages  pages in use  rows`, with a bar for the file whose end is dotted where pages are free.
        var text: String {
            "\(day)\t\(pages)\t\(used)\t\(rows)\t" + String(repeating: "#", count: Int(used / 10))
                + String(repeating: ".", count: Int((pages - used) / 10))
        }
    }

    private func checkAverages(_ year: Year, _ name: String, from limit: Int64, _ reader: StoreReader) throws {
        let expected = year.averages(name, of: year.kept(name, from: limit, minutes: true))
        var found: [Int64: [Double]] = [:]
        try reader.query(
            stream: .accelerometer, detail: .averages(span: 3_600_000_000), devices: [DeviceID(unchecked: name)]
        ) { found[$0.time.microseconds / 3_600_000_000] = $0.values }
        let known = year.averages(name, of: year.sent[name] ?? [])
        let wrong = Set(expected.keys).union(found.keys.filter { known[$0] != nil }).filter {
            expected[$0] != found[$0]
        }
        #expect(
            wrong.isEmpty,
            "\(name), \(wrong.count) of \(expected.count): \(wrong.sorted().prefix(3).map { ($0, expected[$0], found[$0]) })"
        )
        #expect(expected.count > 1000)
    }

    private func open(
        _ path: String, _ clock: SimulatedClock, _ space: FreeSpace, _ keepsSummaries: Bool
    ) throws -> SQLiteStore {
        var options = SQLiteStore.Options.retaining(
            ["motion/*": Self.age], clock, summaries: keepsSummaries ? .some(Self.summaryAge) : nil)
        options.survivesPowerLoss = false
        options.retention.freeSpace = { _ in space.free }
        let store = try SQLiteStore(path: path, options: options)
        try store.database.execute(
            """
            CREATE TEMP TABLE trap AS SELECT 0 AS armed;
            CREATE TEMP TRIGGER f BEFORE UPDATE ON main.expired
            WHEN (SELECT armed FROM trap) BEGIN SELECT RAISE(ABORT, 'trap'); END
            """)
        return store
    }

    /// Deletes some hours of a device, or of one stream of it.
    private func delete(_ year: inout Year, _ day: Int64, _ store: SQLiteStore) throws {
        let first = start + max(0, day - Int64.random(in: 0...50, using: &year.random)) * Self.day
        let times = first..<first + Int64.random(in: 1...Self.day, using: &year.random)
        let name = ["one", "two"].randomElement(using: &year.random) ?? ""
        guard year.sent[name] != nil else { return }
        var group = IngestGroup()
        group.deletions = [
            Deletion(
                id: "\(day)", device: device(name), stream: year.chance(50) ? nil : "motion/accelerometer",
                times: times, at: time(0), isSecure: year.chance(20))
        ]
        try store.write(group)
        year.deleted.append((name, times))
    }

    /// Adds a hold of samples that have not left, or removes one.
    private func changeHolds(_ year: inout Year, _ day: Int64, _ path: String) throws {
        if year.chance(4) {
            let first = start + (day - Int64.random(in: 0...30, using: &year.random)) * Self.day
            let times = first..<first + Self.day * Int64.random(in: 1...2, using: &year.random)
            let id = try HoldTable.add(
                to: path, device: device("one"), stream: nil, from: times.lowerBound, to: times.upperBound,
                reason: "event", now: time(0))
            year.holds.append((id, "one", times))
        }
        if year.holds.count > 4, let hold = year.holds.first {
            try HoldTable.remove(hold.id, from: path)
            year.holds.removeFirst()
        }
    }
}
