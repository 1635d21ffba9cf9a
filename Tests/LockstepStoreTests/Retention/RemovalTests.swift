import Glibc
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepStore

@Suite("What leaves a store", .temporaryFolder)
struct RemovalTests {
    private let day: Int64 = 86_400_000_000

    private func deletion(_ times: Range<Int64>?, stream: String? = nil, onlyRefuses: Bool = false) -> IngestGroup {
        var group = IngestGroup()
        let range = times.map { start + $0.lowerBound..<start + $0.upperBound } ?? Deletion.earliest..<start + 100 * day
        group.deletions = [
            Deletion(
                id: "a", device: device("one"), stream: stream, times: range, at: time(7), onlyRefuses: onlyRefuses)
        ]
        return group
    }

    @Test("a deletion goes on while the commits leave no time in between, in a bounded share of it")
    func pace() throws {
        let (store, path) = try newStore()
        for part in 0..<10 as Range<Int64> { try store.write(received(acceleration(part * 9000..<(part + 1) * 9000))) }
        // Something of it waits, and something of another device is being merged.
        try store.write(received(acceleration([90_001, 90_005])), received(acceleration([1]), from: device("two")))
        try store.startMerge()
        try store.write(received(acceleration([90_002, 90_006])))
        try store.write(deletion(0..<90_003))
        let reader = try StoreReader(path: path)
        var commits: Int64 = 0
        while try reader.deletions(of: nil).first?.done == nil, commits < 60 {
            let first = day + commits * 20_000
            try store.write(received(acceleration(first..<first + 20_000), from: device("two")))
            commits += 1
        }
        #expect(commits > 3 && commits < 60)
        #expect(try reader.database.integer("SELECT count(*) FROM accelerometer WHERE device_id = 1") == 2)
    }

    @Test("rules begin to apply while the commits leave no time in between")
    func paceOfRules() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["*": 10 * day], clock))
        try store.write(received(acceleration(0..<9000)))
        clock.set(start + 30 * day)
        for part in 0..<8 as Range<Int64> {
            let first = 30 * day + part * 20_000
            try store.write(received(acceleration(first..<first + 20_000)))
        }
        let left = "SELECT count(*) FROM accelerometer WHERE t < \(start + day)"
        #expect(try SQLiteDatabase(path: path, mode: .readOnly).integer(left) == 0)
    }

    @Test("between the commits, rules leave time to samples that arrive, and what a person deletes does not wait")
    func pause() throws {
        let clock = SimulatedClock()
        var options = SQLiteStore.Options.retaining(["*": 10 * day], clock)
        options.limits.slice = .zero
        options.limits.removalPause = 1_000_000
        let (store, _) = try newStore(options)
        try store.write(received(acceleration(0..<9000), seq: 1))
        clock.set(start + 30 * day)
        try store.write(received(acceleration([30 * day]), seq: 2))
        (store.retention.due, store.retention.rulesDue) = (.now, .now)
        // As if samples arrived all the time.
        store.retention.storedAt = .now + .seconds(3600)
        func rows() throws -> Int64 { try store.database.integer("SELECT count(*) FROM _accelerometer") }
        let piece = Int64(Removal.pieceSize)
        for _ in 0..<2 {
            store.performMaintenance()
            #expect(try rows() == 9000 - piece && !store.needsMaintenance)
        }
        store.retention.owed = RetentionState.maxOwed
        #expect(store.needsMaintenance)
        store.performMaintenance()
        #expect(try rows() == 9000 - 2 * piece)
        #expect(store.retention.owed == RetentionState.maxOwed - Removal.pieceSize)
        store.retention.owed = 0
        #expect(!store.needsMaintenance)
        try store.write(deletion(0..<1))
        #expect(store.needsMaintenance)
        while store.needsMaintenance { store.performMaintenance() }
        #expect(try store.database.integer("SELECT count(*) FROM deletions WHERE done IS NULL") == 0)
        store.retention.storedAt = .now - .seconds(1)
        while store.needsMaintenance { store.performMaintenance() }
        #expect(try rows() <= 1)
    }

    @Test("conflicts, estimates of clocks, deliveries and events of a deletion leave in pieces")
    func derived() throws {
        var options = SQLiteStore.Options()
        options.limits.slice = .zero
        let (store, _) = try newStore(options)
        try store.write(received(acceleration(0..<2)), received(acceleration([0]), from: device("two")))
        let count = 2 * Removal.pieceSize + 10
        // Half of the conflicts have the same time.
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
        try store.database.execute(
            """
            \(numbers) INSERT INTO conflicts (device_id, stream, t, stored, received, at)
                SELECT 1, 'motion/accelerometer', \(start) + max(0, i - \(count / 2)), '', i, 0 FROM n;
            \(numbers) INSERT INTO _clocks SELECT 1, 'c', 'e', \(start) + i, 0, 0, 0, 0, 0 FROM n;
            \(numbers) INSERT INTO events (rule, device_id, t, at, text, late, severity) SELECT 'r', 1, \(start) + i, 0, '', 0, 'info' FROM n;
            \(numbers) INSERT INTO events (rule, device_id, t, at, text, late, severity) SELECT 'r', 2, \(start) + i, 0, '', 0, 'info' FROM n;
            INSERT INTO deliveries (event_id, way, state, due) SELECT event_id, 'w', 'sent', 0 FROM events;
            """)
        try store.write(deletion(nil))
        let tables = ["conflicts", "_clocks", "deliveries", "events"]
        func counts() throws -> [Int64] {
            try tables.map { try store.database.integer("SELECT count(*) FROM \($0)") }
        }
        var before = try counts()
        while store.needsMaintenance {
            store.performMaintenance()
            let after = try counts()
            // Half of the conflicts have one time.
            let gone = zip(before, after).map { $0 - $1 }
            #expect(gone.allSatisfy { $0 <= Removal.pieceSize + 5 } && gone.count { $0 > 0 } <= 1, "\(gone)")
            before = after
        }
        #expect(before == [0, 0, Int64(count), Int64(count)])
        #expect(try store.database.rows("SELECT count FROM deletions WHERE done NOT NULL") == ["2"])
    }

    @Test("a request that only refuses deletes nothing, and nothing of its times is stored from then on")
    func onlyRefuses() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(0..<5), seq: 1))
        try store.write(deletion(0..<10, stream: "motion/accelerometer", onlyRefuses: true))
        #expect(try StoreReader(path: path).deletions(of: nil).first?.done == time(7))
        try store.write(received(acceleration(3..<12), seq: 2))
        while store.needsMaintenance { store.performMaintenance() }
        // What has waited stays.
        try store.mergeAll()
        let rows = try store.database.rows("SELECT t - \(start) FROM accelerometer ORDER BY t")
        #expect(rows == ["0", "1", "2", "3", "4", "10", "11"])
        #expect(try store.database.rows("SELECT count, refused FROM deletions") == ["0|7"])
    }

    @Test("a store whose disk is nearly full accepts nothing that lets it grow, and makes room without a commit")
    func fullDisk() throws {
        let clock = SimulatedClock()
        let space = FreeSpace()
        var options = SQLiteStore.Options.retaining(["*": 10 * day], clock)
        options.retention.freeSpace = { _ in space.free }
        let (store, path) = try newStore(options)
        try store.write(received(acceleration((0..<9000).map { $0 * day / 900 }), seq: 1))
        // It waits.
        try store.write(received(acceleration([30 * day]), seq: 4))
        #expect(!store.needsCheckpoint)
        space.set(SQLiteStore.reserve * 3 / 2)
        try store.write(received(acceleration((0..<900).map { 10 * day + $0 }), seq: 2))
        // The log is written to the file while it fits.
        #expect(store.needsCheckpoint)
        store.performMaintenance()
        #expect(!store.needsCheckpoint)
        space.set(SQLiteStore.reserve - 1)
        let next = received(acceleration((0..<900).map { 29 * day + $0 }), seq: 3)
        let error = try storeError { try store.write(next) }
        #expect(error.isFull)
        clock.set(start + 30 * day)
        // A merge that fails for want of space does not keep retention from making room.
        try store.startMerge()
        store.hasMergeFailed = true
        store.retention.due = .now
        store.retention.rulesDue = .now
        #expect(store.needsMaintenance)
        while store.needsMaintenance { store.performMaintenance() }
        let reader = try SQLiteDatabase(path: path, mode: .readOnly)
        #expect(try reader.integer("PRAGMA freelist_count") > 10)
        try store.write(next)
    }

    @Test("refined attitude leaves by the rule of the stream that it stands for, also if there is no such stream")
    func refined() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["motion/*": 10 * day], clock))
        try store.write(received(acceleration([0, 30 * day])))
        try refineAttitude(path, at: [4, 29 * day])
        clock.set(start + 30 * day)
        store.applyRetention()
        #expect(try store.database.rows("SELECT t FROM _attitude_refined") == ["\(start + 29 * day)"])
    }

    /// Stores refined attitude of device one at some times, in µs after ``start``.
    private func refineAttitude(_ path: String, at times: [Int64]) throws {
        let run = try RefinedRun(
            path: path, device: device("one"), kind: .attitude, method: "m", version: 1, parameters: "{}", now: time(0))
        let values = [Double](repeating: 1, count: RefinedKind.attitude.columns)
        try run.write(times.map { RefinedRow(time: start + $0, values: values) })
        try run.complete(first: start, last: start + 30 * day)
    }

    @Test("refined rows that cannot be deleted, but are not damaged, are tried again")
    func refinedLater() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["motion/*": 10 * day], clock))
        try store.write(received(acceleration([0, 30 * day])))
        try refineAttitude(path, at: [4])
        try store.database.execute(
            """
            CREATE TRIGGER refuse BEFORE DELETE ON _attitude_refined BEGIN SELECT RAISE(ABORT, 'not now'); END
            """)
        clock.set(start + 30 * day)
        store.applyRetention()
        #expect(store.retention.hasFailed && store.retention.unreadable.isEmpty)
        try store.database.execute("DROP TRIGGER refuse")
        store.applyRetention()
        #expect(try store.database.integer("SELECT count(*) FROM _attitude_refined") == 0)
    }

    @Test("a commit that fails leaves out no refined rows")
    func failedCommit() throws {
        let clock = SimulatedClock()
        let options = SQLiteStore.Options.retaining(["motion/*": 10 * day], clock)
        let path = try {
            let (store, path) = try newStore(options)
            try store.write(received(acceleration([0, 30 * day])))
            try refineAttitude(path, at: Array(0..<5000))
            try store.mergeAll()
            return path
        }()
        // A map of pages that is damaged, which is read when others move to free pages: by the commit.
        try SQLiteDatabase(path: path, mode: .readWrite).execute(
            """
            CREATE TABLE others AS SELECT t, zeroblob(100) AS content FROM _attitude_refined;
            PRAGMA auto_vacuum = FULL;
            VACUUM
            """)
        let size = Int(try SQLiteDatabase(path: path, mode: .readOnly).integer("PRAGMA page_size"))
        let file = try #require(fopen(path, "r+"))
        fseek(file, size, SEEK_SET)
        fwrite([UInt8](repeating: 0, count: size), 1, size, file)
        fclose(file)
        let store = try SQLiteStore(path: path, options: options)
        clock.set(start + 30 * day)
        store.retention.due = .now
        store.retention.rulesDue = .now
        while store.needsRemoval { store.performRemoval(maxDuration: .zero) }
        #expect(store.retention.hasFailed && store.retention.unreadable.isEmpty)
        #expect(try store.database.integer("SELECT count(*) FROM _attitude_refined") == 5000)
        // It was not the commit of the sample, which has left before.
        #expect(try store.database.integer("SELECT count(*) FROM _accelerometer") == 1)
    }

    @Test(
        "what was refined and cannot be read keeps no samples from leaving; without it, a deletion is not done",
        arguments: [true, false])
    func unreadable(isRows: Bool) throws {
        let clock = SimulatedClock()
        let reports = Mutex<[Retention.Event]>([])
        var options = SQLiteStore.Options.retaining(["*": 10 * day], clock)
        options.retention.report = { event in reports.withLock { $0.append(event) } }
        let (store, path) = try newStore(options)
        try store.write(received(acceleration([0, 30 * day])))
        // Refined attitude leaves with motion/device, which comes before steps.
        var steps = SampleBlock(stream: .steps)
        for time in [0, 30 * day] {
            steps.append(
                time: Timestamp(microseconds: start + time), values: SensorStream.steps.columns.map { _ in 1 })
        }
        try store.write(received(steps))
        try refineAttitude(path, at: [4])
        let table = isRows ? "_attitude_refined" : "refined_runs"
        try store.database.execute(
            "ALTER TABLE \(table) RENAME TO _saved; CREATE TABLE \(table) (something INTEGER)")
        /// The numbers of failures, and of reports that samples leave without what was refined.
        func failures() -> [Int] {
            reports.withLock { events in
                [
                    events.count { if case .failed = $0 { true } else { false } },
                    events.count { if case .refinedLeftOut = $0 { true } else { false } },
                ]
            }
        }
        try store.mergeAll()
        clock.set(start + 30 * day)
        store.applyRetention()
        for table in ["accelerometer", "steps"] {
            #expect(try store.database.rows("SELECT t FROM _\(table)") == ["\(start + 30 * day)"])
        }
        try store.write(received(acceleration([31 * day, 45 * day]), from: device("two")))
        try store.mergeAll()
        clock.set(start + 36 * day)
        store.applyRetention()
        #expect(failures() == [0, 1])
        try store.write(deletion(0..<40 * day))
        while store.needsMaintenance { store.performMaintenance() }
        #expect(try store.database.rows("SELECT count, done IS NULL FROM deletions") == ["2|1"])
        #expect(failures() == [1, 1] && store.retention.deletionRetryAt != nil)
        // Another deletion does not wait for it. Without the runs, nothing is known to be complete.
        var other = IngestGroup()
        other.deletions = [
            Deletion(id: "b", device: device("two"), stream: nil, times: start..<start + day, at: time(7))
        ]
        try store.write(other)
        while store.needsMaintenance { store.performMaintenance() }
        let states = try store.database.rows("SELECT request, done IS NULL FROM deletions")
        #expect(states == ["a|1", isRows ? "b|0" : "b|1"])
        let failed = [isRows ? 1 : 2, 1]
        #expect(failures() == failed && store.retention.deletionRetryAt != nil)
        // The rules go on.
        store.retention.deletionRetryAt = .now + .seconds(3600)
        clock.set(start + 44 * day)
        store.applyRetention()
        #expect(try store.database.rows("SELECT t FROM _accelerometer") == ["\(start + 45 * day)"])
        try store.database.execute("DROP TABLE \(table); ALTER TABLE _saved RENAME TO \(table)")
        store.retention.deletionRetryAt = .now
        while store.needsMaintenance { store.performMaintenance() }
        #expect(try store.database.rows("SELECT count, done IS NULL FROM deletions") == ["2|0", "0|0"])
        #expect(try store.database.integer("SELECT count(*) FROM _attitude_refined") == 0)
        #expect(failures() == failed && store.retention.deletionRetryAt == nil)
    }
}

/// The free space of a disk that a test sets.
final class FreeSpace: Sendable {
    private let bytes = Atomic<Int64>(1 << 40)

    var free: Int64 { bytes.load(ordering: .relaxed) }

    func set(_ value: Int64) { bytes.store(value, ordering: .relaxed) }
}
