import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepStore

@Suite("Reports of devices about batches that are not stored", .temporaryFolder)
struct EpochReportTests {
    private let one = device("one")

    /// A clock for stores.
    private final class Clock: Sendable {
        private let time = Mutex<Int64>(0)
        private let step: Int64

        /// - Parameter step: the time in µs that passes with each reading.
        init(step: Int64 = 0) { self.step = step }

        func advance(_ seconds: Int64) { time.withLock { $0 += 1_000_000 * seconds } }

        var options: SQLiteStore.Options {
            var options = SQLiteStore.Options()
            options.bootTime = { [self] in
                time.withLock {
                    $0 += step
                    return $0
                }
            }
            return options
        }
    }

    /// The options of a store for which no device is new for long.
    private let slow = Clock(step: 120_000_000).options

    /// Returns a group with a presence of the device that reports its outbox.
    private func report(
        _ name: String = "e", seq: Int64?, pending: [String: SequenceSet] = [:], batches: [ReceivedBatch] = []
    ) -> IngestGroup {
        let report = OutboxReport(
            epoch: epoch(name), seq: seq,
            pending: Dictionary(uniqueKeysWithValues: pending.map { (epoch($0.key), $0.value) }))
        var group = IngestGroup(
            batches: batches, lifecycles: [one: LifecycleSnapshot(epoch: epoch(name), session: 1)], seen: [one: time(1)]
        )
        group.reports[DeviceEpoch(device: one, epoch: epoch(name))] = report
        return group
    }

    private func batches(_ numbers: SequenceSet, _ name: String = "e") -> [ReceivedBatch] {
        numbers.ranges.flatMap { Array($0) }.map { received(acceleration([$0]), epoch: name, seq: $0) }
    }

    /// Returns what is missing, on its way and from before the store in each epoch, and compares the views with it.
    private func state(_ path: String) throws -> [String] {
        let reader = try StoreReader(path: path)
        let epochs = try reader.verification().flatMap(\.epochs)
        func sum(_ set: KeyPath<EpochVerification, SequenceSet>) -> Int64 {
            epochs.reduce(0) { $0 + $1[keyPath: set].count }
        }
        let rows = try reader.database.rows(
            """
            SELECT ifnull(sum(missing), 0), ifnull(sum(batches - missing - before), 0), ifnull(sum(before), 0) FROM v_gaps
            """)
        #expect(rows == ["\(sum(\.missing))|\(sum(\.onItsWay))|\(sum(\.earlier))"])
        let views = try reader.database.rows("SELECT missing_batches, batches_on_their_way FROM v_devices")
        #expect(views == ["\(sum(\.missing))|\(sum(\.onItsWay))"])
        let summary = try #require(try reader.devices().first)
        #expect(summary.missing == sum(\.missing) && summary.onItsWay == sum(\.onItsWay))
        return epochs.map { "\($0.epoch): missing [\($0.missing)] way [\($0.onItsWay)] before [\($0.earlier)]" }
    }

    @Test("batches of a device that catches up are on their way, until it no longer has them")
    func catchingUp() throws {
        let (store, path) = try newStore(slow)
        try store.write(report(seq: 3, batches: batches([1...3])))
        try store.write(IngestGroup(batches: batches([10...10])))
        #expect(try state(path) == ["e: missing [] way [4-9] before []"])
        try store.write(report(seq: 10, pending: ["e": [4...7]]))
        #expect(try state(path) == ["e: missing [8-9] way [4-7] before []"])
        try store.write(IngestGroup(batches: batches([4...6, 9...9])))
        #expect(try state(path) == ["e: missing [8] way [7] before []"])
    }

    @Test("after a restart, the store knows what devices have reported")
    func restart() throws {
        let path = try newStore(slow).path
        try SQLiteStore(path: path, options: slow).write(
            report(seq: 10, pending: ["e": [4...7]], batches: batches([1...3, 10...10])))
        let store = try SQLiteStore(path: path)
        #expect(try state(path) == ["e: missing [8-9] way [4-7] before []"])
        try store.write(report(seq: 10))
        #expect(try state(path) == ["e: missing [4-9] way [] before []"])
    }

    @Test("a device that reports nothing may have nothing")
    func silent() throws {
        let (store, path) = try newStore(slow)
        try store.write(IngestGroup(batches: batches([2...2, 5...5])))
        #expect(try state(path) == ["e: missing [1, 3-4] way [] before []"])
    }

    @Test("what others have acknowledged before the store knew a device is not missing, but what follows is")
    func newStoreOfOldDevice() throws {
        let (store, path) = try newStore(slow)
        try store.write(report(seq: 85, pending: ["e": [80...84]], batches: batches([85...85])))
        #expect(try state(path) == ["e: missing [] way [80-84] before [1-79]"])
        try store.write(report(seq: 90, pending: ["e": [83...84]], batches: batches([80...81, 90...90])))
        #expect(try state(path) == ["e: missing [82, 86-89] way [83-84] before [1-79]"])
        try store.write(IngestGroup(batches: batches([7...7])))
        #expect(try state(path) == ["e: missing [82, 86-89] way [83-84] before [1-6, 8-79]"])
    }

    @Test("what goes soon after the store knew a device is from before, wherever it is, and what goes later is missing")
    func scattered() throws {
        let clock = Clock()
        let (store, path) = try newStore(clock.options)
        // Another store has 60-70 and 95-100.
        try store.write(IngestGroup(batches: batches([80...94])))
        clock.advance(30)
        try store.write(report(seq: 101, pending: ["e": [1...59, 71...79, 101...101]]))
        #expect(try state(path) == ["e: missing [] way [1-59, 71-79] before [60-70]"])
        try store.write(IngestGroup(batches: batches([20...59, 71...79, 101...101])))
        #expect(try state(path) == ["e: missing [] way [1-19] before [60-70, 95-100]"])
        clock.advance(30)
        try store.write(report(seq: 101, pending: ["e": [2...19]]))
        #expect(try state(path) == ["e: missing [] way [2-19] before [1, 60-70, 95-100]"])
        clock.advance(1)
        try store.write(report(seq: 105, pending: ["e": [4...19]], batches: batches([105...105])))
        #expect(try state(path) == ["e: missing [2-3, 102-104] way [4-19] before [1, 60-70, 95-100]"])
    }

    @Test("batches of all epochs of a new device may be from before the store")
    func newStoreOfSeveralEpochs() throws {
        let clock = Clock()
        let (store, path) = try newStore(clock.options)
        try store.write(IngestGroup(batches: batches([7...7], "d") + batches([9...9], "e") + batches([3...3], "f")))
        try store.write(report("f", seq: 3, pending: ["e": [5...6]]))
        #expect(
            try state(path) == [
                "d: missing [] way [] before [1-6]", "e: missing [] way [5-6] before [1-4, 7-8]",
                "f: missing [] way [] before [1-2]",
            ])
        // No device continues with an epoch that has ended. If one did, nothing would be taken for complete.
        try store.write(report("e", seq: 12, pending: ["e": [5...6]], batches: batches([12...12], "e")))
        clock.advance(61)
        try store.write(report("e", seq: 14, batches: batches([14...14], "e")))
        #expect(try state(path)[1] == "e: missing [5-6, 10-11, 13] way [] before [1-4, 7-8]")
    }

    @Test("a store that was opened again does not take what goes for the time before it")
    func reopened() throws {
        let clock = Clock()
        let path = TemporaryFolder.path + "/store"
        try SQLiteStore(path: path, options: clock.options).write(IngestGroup(batches: batches([5...5])))
        try SQLiteStore(path: path, options: clock.options).write(report(seq: 9, batches: batches([9...9])))
        #expect(try state(path) == ["e: missing [6-8] way [] before [1-4]"])
    }

    @Test("batches of a later epoch are missing, because the store knew the device before")
    func laterEpoch() throws {
        let (store, path) = try newStore(slow)
        try store.write(report(seq: 2, batches: batches([1...2])))
        try store.write(report("f", seq: 85, batches: batches([85...85], "f")))
        #expect(try state(path) == ["e: missing [] way [] before []", "f: missing [1-84] way [] before []"])
    }

    @Test("batches of an earlier epoch are on their way as long as the device lists them")
    func earlierEpoch() throws {
        let (store, path) = try newStore(slow)
        try store.write(report(seq: 9, pending: ["e": [3...9]], batches: batches([1...2])))
        try store.write(report("f", seq: 1, pending: ["e": [3...9], "f": [1...1]], batches: batches([9...9])))
        #expect(try state(path) == ["e: missing [] way [3-8] before []"])
        try store.write(report("f", seq: 1, pending: ["e": [5...9]], batches: batches([1...1], "f")))
        #expect(try state(path) == ["e: missing [3-4] way [5-8] before []", "f: missing [] way [] before []"])
        try store.write(report("f", seq: 2))
        #expect(try state(path) == ["e: missing [3-8] way [] before []", "f: missing [] way [] before []"])
    }

    @Test("a report without a number is about its epoch only")
    func withoutNumber() throws {
        let (store, path) = try newStore(slow)
        try store.write(report("f", seq: 1, pending: ["e": [2...8]], batches: batches([1...1, 9...9])))
        try store.write(report("f", seq: nil, batches: batches([1...1], "f")))
        #expect(try state(path).first == "e: missing [] way [2-8] before []")
    }

    @Test("a copy of a store takes nothing for the time before it", arguments: [true, false])
    func copy(isBackup: Bool) throws {
        let path = TemporaryFolder.path + "/store"
        let copy = TemporaryFolder.path + "/copy"
        _ = try SQLiteStore(path: path)
        if isBackup {
            _ = try StoreBackup(of: path, to: copy).run(replacing: false) { _, _ in }
        } else {
            try SQLiteDatabase(path: path).execute("VACUUM INTO '\(copy)'")
        }
        try SQLiteStore(path: copy).write(report(seq: 85, pending: ["e": [85...85]], batches: batches([85...85])))
        #expect(try state(copy) == ["e: missing [1-84] way [] before []"])
    }

    @Test("a report that changes nothing writes nothing")
    func unchanged() throws {
        let (store, _) = try newStore(slow)
        func rows() throws -> [String] { try store.database.rows("SELECT epoch, gone, before FROM _reports") }
        try store.write(report(seq: 9, pending: ["e": [4...9]], batches: batches([1...3])))
        #expect(try rows().isEmpty)
        try store.write(report(seq: 11, batches: batches([7...7])))
        #expect(try rows() == ["e|[[4,6],[8,11]]|[]"])
        // If a report wrote the same row again, it would replace this change.
        try store.database.execute("UPDATE _reports SET gone = '[[4,11]]'")
        try store.write(report(seq: 11))
        #expect(try rows() == ["e|[[4,11]]|[]"])
    }

    @Test("reports of a rolled back transaction are forgotten")
    func rollback() throws {
        let (store, path) = try newStore(slow)
        try store.write(report(seq: 3, batches: batches([1...1, 3...3])))
        try store.add(report(seq: 3, pending: ["e": [2...2]]))
        store.rollBack()
        try store.write(report(seq: 3, pending: ["e": [2...2]]))
        #expect(try state(path) == ["e: missing [] way [2] before []"])
    }

    @Test("a device has a limited number of reports, whatever it lists")
    func manyEpochs() throws {
        let (store, path) = try newStore(slow)
        func list(_ numbers: ClosedRange<Int>) -> [String: SequenceSet] {
            Dictionary(uniqueKeysWithValues: numbers.map { ("x\($0)", [1...9]) })
        }
        for start in stride(from: 0, to: 1000, by: 250) {
            try store.write(report(seq: 3, pending: list(start...start + 249), batches: batches([1...3])))
        }
        #expect(try store.database.integer("SELECT count(*) FROM _reports") == 256)
        // Nor in memory.
        #expect(store.scopes.keys.count <= 257)
        // Those that are known are still updated.
        try store.write(report(seq: 3, pending: list(0...249)))
        try store.write(IngestGroup(batches: batches([5...5], "x7")))
        #expect(try state(path).last == "x7: missing [] way [1-4] before []")
    }

    @Test("the ranges of a report survive a round trip, and are limited without those in the outbox")
    func json() {
        let report = EpochReport(gone: [1...84, 90...90], before: [86...87])
        let texts = (EpochReport.json(report.gone), EpochReport.json(report.before))
        #expect(texts == ("[[1,84],[90,90]]", "[[86,87]]") && EpochReport(gone: texts.0, before: texts.1) == report)
        #expect(EpochReport(gone: "[]", before: "[]") == EpochReport(gone: []))
        for damaged in ["", "[[1]]", "[[2,1]]", "[[a,2]]"] {
            #expect(EpochReport(gone: damaged, before: "[]") == nil && EpochReport(gone: "[]", before: damaged) == nil)
        }
        // A presence has at most 1000 ranges in its outbox.
        let known = SequenceSet((1...3000).map { $0 * 3...$0 * 3 })
        let pending = SequenceSet((1...1000).map { $0 * 9 - 1...$0 * 9 - 1 })
        let outbox = OutboxReport(epoch: epoch("e"), seq: 9001, pending: [epoch("e"): pending])
        let gone = EpochReport.changes(by: outbox, of: [:]) { _ in
            nil
        } known: { _ in
            known
        }[epoch("e")]?.gone
        #expect(gone == SequenceSet([1...9001]).subtracting(pending))
        #expect(
            EpochReport.changes(by: outbox, of: [epoch("e"): EpochReport(gone: gone ?? [])]) { _ in
                nil
            } known: { _ in
                known
            }.isEmpty)
    }
}
