import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepStore

@Suite("Retention", .temporaryFolder)
struct RetentionTests {
    private let day: Int64 = 86_400_000_000

    @Test("samples leave by the rule, are known as expired, and nothing is missing")
    func rule() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["motion/accelerometer": 20 * day], clock))
        for number in 0...39 as ClosedRange<Int64> {
            try store.write(
                received(acceleration((0..<100).map { number * day + $0 }), seq: 2 * number + 1),
                received(location(number * day), seq: 2 * number + 2))
            clock.set(start + number * day)
            store.applyRetention()
        }
        let reader = try StoreReader(path: path)
        let kept = KeepRules.limit(ofAge: 20 * day, at: start + 39 * day)
        #expect(
            try reader.database.integer("SELECT min(t) FROM accelerometer") == start + (kept - start + day - 1) / day
                * day)
        #expect(try reader.database.integer("SELECT count(*) FROM location") == 40)
        let expiry = try #require(try reader.expiries().first)
        let rows = try reader.database.integer("SELECT count(*) FROM accelerometer")
        #expect(expiry.stream == "motion/accelerometer" && expiry.before == kept && expiry.samples == 4000 - rows)
        #expect(try reader.devices().map(\.missing) == [0])
        // A late sample is acknowledged, counted, and not stored.
        let result = try store.write(received(acceleration([5]), seq: 81))
        #expect(result.devices[device("one")] == IngestResult.Counts(expired: 1))
        #expect(result.received.values.first?.contains(81) == true)
        #expect(try reader.expiries().first?.late == 1)
        #expect(store.space()?.expired == Int(expiry.samples) && store.space()?.late == 1)
        let comparison = try reader.compare(acceleration([5, 39 * day, 39 * day + 200]), of: device("one"))
        #expect(comparison.expired == 1 && comparison.present == 1 && comparison.missing.count == 1)
        // As after a restart.
        withExtendedLifetime(consume store) {}
        let next = try SQLiteStore(path: path, options: .retaining(["motion/accelerometer": 20 * day], clock))
        #expect(
            try next.write(received(acceleration([5]), seq: 82)).devices[device("one")]
                == IngestResult.Counts(expired: 1))
    }

    @Test("most pages that become free are not written")
    func written() throws {
        let clock = SimulatedClock()
        let (store, _) = try newStore(.retaining(["*": 10 * day], clock))
        for part in 0..<5 as Range<Int64> {
            try store.write(received(acceleration(part * 9000..<(part + 1) * 9000), seq: part))
        }
        let free = try store.database.integer("PRAGMA freelist_count")
        clock.set(start + 30 * day)
        try store.write(received(acceleration([30 * day]), seq: 6))
        // The log begins again.
        store.checkpoint()
        store.applyRetention()
        #expect(try store.database.integer("SELECT count(*) FROM accelerometer") == 1)
        let freed = try store.database.integer("PRAGMA freelist_count") - free
        #expect(freed > 500 && store.database.logPages < Int(freed) / 2, "\(freed) \(store.database.logPages)")
    }

    @Test("samples of a device whose clock is not set stay")
    func unset() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["*": 10 * day], clock))
        clock.set(start + 30 * day)
        try store.write(received(acceleration((0..<300).map { $0 * day / 10 }), seq: 1))
        store.applyRetention()
        let result = try store.write(received(acceleration((0..<300).map { $0 - start }), seq: 2))
        #expect(result.devices[device("one")] == IngestResult.Counts(stored: 300))
        store.applyRetention()
        #expect(try SQLiteDatabase(path: path).integer("SELECT count(*) FROM accelerometer WHERE t < \(day)") == 300)
    }

    @Test("samples that waited while the limit passed over them do not reach their table")
    func waiting() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["*": day], clock))
        try store.write(received(acceleration([0, 1]), seq: 1))
        clock.set(start + 10 * day)
        try store.write(received(acceleration([10 * day]), seq: 2))
        store.applyRetention()
        try store.mergeAll()
        let reader = try StoreReader(path: path)
        #expect(try reader.database.rows("SELECT t FROM accelerometer") == ["\(start + 10 * day)"])
        #expect(try reader.expiries().map(\.samples) == [2])
    }

    @Test("more than half of a stream leaves only with a confirmation, also after a clock was ahead by years")
    func confirmation() throws {
        let clock = SimulatedClock()
        let reports = Mutex<[Retention.Event]>([])
        var options = SQLiteStore.Options.retaining(["*": 10 * day], clock, isConfirmed: false)
        options.retention.report = { event in reports.withLock { $0.append(event) } }
        let (store, path) = try newStore(options)
        for number in 0...9 as ClosedRange<Int64> {
            try store.write(received(acceleration((0..<200).map { number * day + $0 }), seq: number + 1))
        }
        // Both clocks are wrong: that of the collector, and that of the only device.
        clock.set(start + 3000 * day)
        try store.write(received(acceleration([3000 * day]), seq: 11))
        store.applyRetention()
        store.applyRetention()
        let refusal = Retention.Refusal(stream: "motion/accelerometer", samples: 2000, others: 0)
        #expect(reports.withLock { $0 } == [.refused(refusal)])
        #expect(store.space()?.refusals == [refusal])
        let reader = try SQLiteDatabase(path: path, mode: .readOnly)
        #expect(try reader.integer("SELECT count(*) FROM accelerometer") == 2001)
        withExtendedLifetime(consume store) {}
        options.retention.isConfirmed = true
        let next = try SQLiteStore(path: path, options: options)
        next.applyRetention()
        #expect(try reader.integer("SELECT count(*) FROM accelerometer") == 1)
    }

    @Test("held samples stay until the hold is removed, and late ones are stored")
    func hold() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["*": 10 * day], clock))
        try store.write(received(acceleration((0..<300).map { $0 * day / 10 }), seq: 1))
        let id = try HoldTable.add(
            to: path, device: device("one"), stream: "motion/accelerometer", from: start + 2 * day, to: start + 3 * day,
            reason: "a fall", now: time(0))
        clock.set(start + 30 * day)
        store.applyRetention()
        let reader = try StoreReader(path: path)
        let held = "SELECT count(*) FROM accelerometer WHERE t < \(start + 15 * day)"
        #expect(try reader.database.integer(held) == 10)
        #expect(try reader.holds().map(\.reason) == ["a fall"])
        let result = try store.write(received(acceleration([2 * day + 7, 5 * day + 7]), seq: 2))
        #expect(result.devices[device("one")] == IngestResult.Counts(stored: 1, expired: 1))
        try HoldTable.remove(id, from: path)
        store.applyRetention()
        try store.mergeAll()
        #expect(try reader.database.integer(held) == 0)
        #expect(throws: StoreError.self) { try HoldTable.remove(id, from: path) }
    }

    @Test("a transaction that fails deletes nothing, and retention continues")
    func failure() throws {
        let clock = SimulatedClock()
        let (store, path) = try newStore(.retaining(["*": 10 * day], clock))
        try store.write(received(acceleration((0..<9000).map { $0 * day / 300 }), seq: 1))
        clock.set(start + 30 * day)
        try store.database.execute(
            """
            CREATE TEMP TRIGGER failing BEFORE DELETE ON main._accelerometer WHEN old.t > \(start + 14 * day)
            BEGIN SELECT RAISE(ABORT, 'failing'); END
            """)
        store.retention.due = .now
        store.performRemoval(maxDuration: .zero)
        store.performRemoval(maxDuration: .seconds(10))
        #expect(!store.needsRemoval)
        let reader = try StoreReader(path: path)
        let count = try reader.database.integer("SELECT count(*) FROM accelerometer")
        #expect(count == 9000 - Int64(Removal.pieceSize))
        let expiry = try #require(try reader.expiries().first)
        #expect(try expiry.before <= reader.database.integer("SELECT min(t) FROM accelerometer"))
        try store.database.execute("DROP TRIGGER failing")
        // Without a commit, which a full disk might not allow.
        store.retention.retryAt = .now
        #expect(store.needsMaintenance)
        store.applyRetention()
        try store.write(received(acceleration([30 * day]), seq: 2))
        let limit = KeepRules.limit(ofAge: 10 * day, at: start + 30 * day)
        #expect(try reader.database.integer("SELECT count(*) FROM accelerometer WHERE t < \(limit)") == 0)
        #expect(
            try reader.database.integer("SELECT count(*) + \(reader.expiries()[0].samples) FROM accelerometer") == 9001)
    }

    @Test(
        "at the limit of size, the oldest samples of the streams leave in the stated order, and the newest hour stays")
    func size() throws {
        let clock = SimulatedClock()
        var options = SQLiteStore.Options.retaining([:], clock)
        options.retention.maxSize = .bytes(600_000)
        options.retention.order = [try StreamPattern("motion/gyroscope")]
        let (store, path) = try newStore(options)
        let second: Int64 = 1_000_000
        let reader = try SQLiteDatabase(path: path, mode: .readOnly)
        for number in 0..<100 as Range<Int64> {
            clock.set(start + (number + 1) * 200 * second)
            let block = acceleration((0..<200).map { (number * 200 + $0) * second })
            var gyroscope = SampleBlock(stream: .gyroscope)
            for index in block.times.indices {
                gyroscope.append(time: time(block.times[index] - start), values: [1, 2, 3.5])
            }
            try store.write(received(block, seq: 2 * number + 1), received(gyroscope, seq: 2 * number + 2))
            store.applyRetention()
            let content = try reader.integer("PRAGMA page_count") - reader.integer("PRAGMA freelist_count")
            try #require(content * 2048 <= 600_000)
        }
        // The gyroscope has only its last hour, and then the accelerometer has lost some.
        let oldest = try reader.integer("SELECT min(t) FROM gyroscope")
        #expect(oldest > start + (20_000 - 3600 - 400) * second && oldest <= start + (20_000 - 3600) * second)
        #expect(try reader.integer("SELECT max(t) FROM gyroscope") == start + 19_999 * second)
        #expect(try reader.integer("SELECT count(*) FROM accelerometer") > 3600)
        #expect(try reader.integer("SELECT max(from_t) FROM expired") > start)
        let space = try #require(store.space())
        #expect(space.limit == 540_000 && space.file >= 540_000 && space.expired > 0)
    }

    @Test("free pages are given back in steps while the store is written, once the file has a map of its pages")
    func compaction() throws {
        let clock = SimulatedClock()
        let path = TemporaryFolder.path + "/store"
        let options = SQLiteStore.Options.retaining(["*": 10 * day], clock)
        func fill(_ store: SQLiteStore, _ seq: Int64) throws {
            try store.write(received(acceleration((0..<9000).map { seq * 30 * day + $0 * day / 300 }), seq: seq + 1))
        }
        try {
            let store = try SQLiteStore(path: path, options: options)
            try fill(store, 0)
            let error = try storeError { try StoreCompaction(path: path).run { _ in true } }
            #expect(error.code == .inUse)
            store.close()
        }()
        try StoreCompaction(path: path).run { _ in true }
        let store = try SQLiteStore(path: path, options: options)
        try fill(store, 1)
        clock.set(start + 60 * day)
        store.applyRetention()
        let before = try #require(store.space())
        #expect(before.free > 100_000)
        var steps = 0
        let compaction = try StoreCompaction(path: path)
        try compaction.run { _ in
            steps += 1
            if steps == 1 { #expect(throws: Never.self) { try fill(store, 2) } }
            return true
        }
        #expect(steps > 0)
        #expect(try compaction.free == 0)
        try store.write(received(acceleration([100 * day]), seq: 9))
        let after = try #require(store.space())
        #expect(after.free < before.free)
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
    }

    @Test("the sizes of series add up to those of their tables")
    func sizes() throws {
        let (store, path) = try newStore()
        try store.write(
            received(acceleration(0..<3000), seq: 1), received(acceleration(0..<1000), from: device("two"), seq: 1))
        let sizes = try StoreReader(path: path).sizes()
        #expect(sizes.map(\.samples) == [3000, 1000] && sizes.map(\.device) == [device("one"), device("two")])
        #expect(sizes[0].bytes > 60_000 && sizes[0].bytes < 200_000)
        #expect(abs(sizes[0].bytes - 3 * sizes[1].bytes) < 10)
    }
}

/// A clock that a test sets.
final class SimulatedClock: Sendable {
    private let time = Atomic<Int64>(start)

    func set(_ microseconds: Int64) { time.store(microseconds, ordering: .relaxed) }

    var now: Int64 { time.load(ordering: .relaxed) }
}

/// Returns a block with one fix at an offset in µs after ``start``.
func location(_ offset: Int64) -> SampleBlock {
    var block = SampleBlock(stream: .location)
    var values = [Double](repeating: .nan, count: SensorStream.location.columns.count)
    values[0] = 48
    values[1] = 11
    block.append(time: time(offset), values: values)
    return block
}

extension SQLiteStore.Options {
    /// Returns options with rules, by a simulated clock.
    /// - Parameter summaries: the age of summaries of motion whose samples have left, nil for no end; without it, they leave too.
    static func retaining(
        _ rules: [String: Int64], _ clock: SimulatedClock, isConfirmed: Bool = true, summaries: Int64?? = nil
    ) -> Self {
        var options = Self()
        options.retention.isConfirmed = isConfirmed
        let parsed = rules.compactMap { text, age in (try? StreamPattern(text)).map { (pattern: $0, age: Int64?(age)) }
        }
        options.retention.rules = (try? KeepRules(parsed)) ?? .everything
        if let summaries, let pattern = try? StreamPattern("motion/*") {
            options.retention.summaryRules = (try? KeepRules([(pattern, summaries)])) ?? .everything
        }
        options.retention.wallTime = { clock.now }
        // Tests wait for all that is to leave.
        options.limits.removalPause = 0
        return options
    }
}

extension SQLiteStore {
    /// Applies the rules until nothing more leaves, or that fails.
    func applyRetention() {
        // What is leaving may have begun with earlier limits.
        if retention.removal != nil { remove() }
        retention.due = .now
        retention.rulesDue = .now
        remove()
    }

    private func remove() {
        repeat {
            performRemoval(maxDuration: .milliseconds(50))
            guard isMerging, retention.removal?.deletion != nil else { continue }
            do { try mergeSlice() } catch { return }
        } while !retention.hasFailed && (retention.removal != nil || retention.isShedding && !retention.isTooSmall)
    }
}
