import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Limits of the logs", .temporaryFolder)
struct LogLimitTests {
    private func open() throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        return try newStore(options).store
    }

    /// Writes one sample and a heartbeat of another device.
    private func write(_ store: SQLiteStore, _ offset: Int64) throws {
        try store.write(
            IngestGroup(batches: [received(acceleration([offset]))], seen: [device("two"): time(offset)]))
    }

    /// Continues the active log as if it had that number of turns.
    private func skip(_ store: SQLiteStore, toTurn turn: Int64) throws {
        let log = store.logs[store.activeLog]
        store.logs[store.activeLog].restore(log.index, lastTurn: turn)
    }

    private func expectRows(_ store: SQLiteStore, _ offsets: Range<Int64>) throws {
        #expect(
            try store.database.rows("SELECT t - \(start) FROM accelerometer ORDER BY t") == offsets.map(String.init))
        #expect(try store.database.rows("SELECT samples FROM devices ORDER BY device") == ["\(offsets.count)", "0"])
    }

    @Test("the last turn but one starts a merge, and writing continues in the other log")
    func fullTurns() throws {
        let store = try open()
        try write(store, 0)
        try skip(store, toTurn: 4093)
        try write(store, 1)
        #expect(store.merge == nil && store.activeLog == .first)
        try write(store, 2)
        #expect(store.merge?.log == .first && store.activeLog == .second)
        try write(store, 3)
        try expectRows(store, 0..<4)
        #expect(try store.database.rows("SELECT turn FROM log1_narrow") == ["1", "4094", "4095"])
        #expect(try store.database.rows("SELECT turn FROM log2_narrow") == ["1"])
    }

    @Test("if the other log is still being merged at the last turn, the merge is finished first")
    func makeRoom() throws {
        let store = try open()
        try write(store, 0)
        try skip(store, toTurn: 4094)
        try write(store, 1)
        #expect(store.activeLog == .second)
        try write(store, 2)
        try store.mergeSlice(maxDuration: .zero)
        try skip(store, toTurn: 4094)
        try write(store, 3)
        try write(store, 4)
        // The merge of the first log is not finished, so the second one remains active up to the last turn.
        #expect(store.merge?.log == .first && store.logs[.second].lastTurn == 4096)
        try expectRows(store, 0..<5)
        try write(store, 5)
        #expect(store.merge?.log == .second && store.activeLog == .first)
        #expect(try store.database.rows("SELECT turn, t - \(start) FROM log1_narrow") == ["1|5"])
        try expectRows(store, 0..<6)
        while store.merge != nil { try store.mergeSlice(maxDuration: .zero) }
        try expectRows(store, 0..<6)
    }

    @Test("if there is no space to make room for a turn, the write fails and succeeds later")
    func noRoom() throws {
        let store = try open()
        try write(store, 0)
        try skip(store, toTurn: 4096)
        try store.database.execute(
            "CREATE TEMP TRIGGER trap BEFORE INSERT ON main.merged_accelerometer BEGIN SELECT RAISE(ABORT, 'trap'); END"
        )
        // The log can be switched, but then the other log is full as well.
        try write(store, 1)
        try skip(store, toTurn: 4096)
        for _ in 0..<2 {
            #expect(try storeError { try write(store, 2) }.description.contains("trap"))
            try expectRows(store, 0..<2)
        }
        try store.database.execute("DROP TRIGGER trap")
        try write(store, 2)
        try expectRows(store, 0..<3)
    }

    @Test(
        "a log is merged at 1000 rows of few devices, 500 of more, 100 of many, at most 1,000,000 in all, and 4000 of one",
        arguments: [
            (0, 0), (1, 4000), (10, 20_000), (50, 50_000), (100, 100_000), (150, 100_000), (300, 150_000),
            (1000, 500_000), (6000, 600_000), (100_000, 1_000_000),
        ])
    func fullRows(devices: Int, rows: Int) {
        #expect(SQLiteStore.fullRows(devices: devices) == rows)
    }

    @Test("rows of a device with 8000 rows in the log are written directly")
    func manyRowsOfDevice() throws {
        let store = try open()
        var offset: Int64 = 0
        // A run of 125 rows is appended. The first log is merged at 4000 rows.
        while store.merge == nil {
            try store.write(received(acceleration(offset..<offset + 125)))
            offset += 125
        }
        #expect(offset == 4000)
        for _ in 0..<80 {
            // As if there was no space for a merge.
            store.hasMergeFailed = true
            try store.write(received(acceleration(offset..<offset + 125)))
            offset += 125
        }
        #expect(store.logs[.second].index.rows == 8000)
        #expect(try store.database.integer("SELECT count(*) FROM merged_accelerometer") == 2000)
        // Repeated samples are found at all three places.
        for first in stride(from: Int64(0), to: offset, by: 1000) {
            #expect(
                try store.write(received(acceleration(first..<first + 125))).devices[device("one")]
                    == .init(duplicates: 125))
        }
        try store.mergeLogs()
        #expect(try store.database.integer("SELECT count(*) FROM merged_accelerometer") == offset)
        #expect(try store.database.rows("SELECT samples, duplicates FROM devices") == ["\(offset)|\(offset / 8)"])
    }

    @Test("without maintenance, a merge of a log or of runs ends before the other log has twice its rows")
    func pace() throws {
        var options = MergeWorkload.options(usesRuns: true)
        options.limits.minPaceRows = 0
        options.limits.pace = .seconds(60)
        let store = try newStore(options).store
        var offset: Int64 = 0
        func writeOne() throws {
            try store.write(received(acceleration(offset..<offset + 125)))
            offset += 125
        }
        try store.write(received(acceleration(-9 ..< -1)))
        try store.startMerge(of: store.activeLog)
        try store.finishMerge()
        try store.startRunMerge()
        while offset < 4000 { try writeOne() }
        // Up to its limit, the log waits for maintenance.
        #expect(store.runMerge != nil)
        let log = store.activeLog
        while store.runMerge != nil, offset < 20_000 { try writeOne() }
        #expect((4000...8250).contains(offset))
        while store.activeLog == log, offset < 20_000 { try writeOne() }
        let first = offset
        while store.merge?.log == log, offset < 20_000 { try writeOne() }
        #expect((4000...8250).contains(offset - first))
        try store.mergeLogs()
        #expect(try store.database.integer("SELECT count(*) FROM merged_accelerometer") == offset + 8)
    }

    /// Writes a row of each of forty devices and starts their merge.
    private func startMerge(_ store: SQLiteStore) throws {
        for number in 0..<40 { try store.write(received(acceleration([1]), from: device("d\(number)"))) }
        try store.startMerge(of: store.activeLog)
    }

    @Test("a commit merges for a limited time, and rows of few devices do not force the merge of many")
    func limitedPace() throws {
        var options = MergeWorkload.options(usesRuns: false)
        options.limits.pace = .zero
        options.limits.maxRows = 1_000_000
        for minPaceRows in [0, 200_000] {
            options.limits.minPaceRows = minPaceRows
            let store = try SQLiteStore(path: TemporaryFolder.path + "/store\(minPaceRows)", options: options)
            try startMerge(store)
            var steps: [Double] = []
            for offset in stride(from: Int64(0), to: 6000, by: 100) {
                let before = store.merge?.progress ?? 1
                try store.write(received(acceleration(offset..<offset + 100)))
                steps.append((store.merge?.progress ?? 1) - before)
            }
            let devices = steps.map { ($0 * 41).rounded() }
            // A log of one device is full at 4000 rows.
            #expect(devices.max() == (minPaceRows == 0 ? 1 : 0))
            #expect(devices.prefix(40).allSatisfy { $0 == 0 })
            try store.mergeLogs()
            #expect(try store.database.integer("SELECT count(*) FROM merged_accelerometer") == 6040)
        }
    }

    @Test("if the active log has its maximum number of rows, a commit finishes the merge")
    func maxRows() throws {
        var options = MergeWorkload.options(usesRuns: false)
        options.limits.pace = .zero
        options.limits.maxRows = 500
        let store = try newStore(options).store
        try startMerge(store)
        for first in [0, 100, 200, 300, 400] as [Int64] {
            #expect(store.merge?.log == .first)
            try store.write(received(acceleration(first..<first + 100)))
        }
        #expect(store.merge?.log == .first)
        try write(store, 500)
        #expect(store.merge == nil)
    }

    @Test("the time that a commit merges grows when the active log is more than half full")
    func paceDuration() {
        let limits = MergeLimits()
        #expect(limits.fill(rows: 1_000_000, turns: 0) == 0.5)
        #expect(limits.fill(rows: 0, turns: LogSchema.maxTurns) == 1)
        #expect(limits.paceDuration(fill: 0.5) == .milliseconds(10))
        #expect(limits.paceDuration(fill: 0.75) == .milliseconds(500))
        #expect(limits.paceDuration(fill: 1.5) == .seconds(1))
        #expect(limits.paceShare(rows: 300_000, startRows: 0, fullRows: 4000, fill: 0.15) == 0.5)
        #expect(limits.paceShare(rows: 300_000, startRows: 250_000, fullRows: 4000, fill: 0.15) == 0.25)
        #expect(limits.paceShare(rows: 300_000, startRows: 0, fullRows: 4000, fill: 0.875) == 0.75)
    }

    /// Returns a store with ten rows of each of 400 devices in its log, and an empty write-ahead log.
    private func storeWithLog(_ options: SQLiteStore.Options) throws -> SQLiteStore {
        let store = try newStore(options).store
        var group = IngestGroup()
        for number in 0..<400 { group.append(received(acceleration(0..<10), from: device("d\(number)"))) }
        try store.write(group)
        try store.database.checkpoint(truncate: true)
        return store
    }

    @Test("a merge that has to be finished copies the write-ahead log meanwhile")
    func checkpoints() throws {
        var options = MergeWorkload.options(usesRuns: true)
        options.limits.checkpointPages = 100
        options.limits.slice = .zero
        let store = try storeWithLog(options)
        var pages = 0
        for step in 0..<2 {
            if step == 0 { try store.startMerge(of: .first) } else { try store.startRunMerge() }
            try store.finishMerge()
            pages = max(
                pages, try Data(contentsOf: URL(filePath: store.path + "-wal")).count / (StoreSchema.pageSize + 24))
        }
        #expect((100..<200).contains(pages))
    }

    @Test("the write-ahead log starts again during a merge after a reader has prevented it once")
    func checkpointAfterReader() throws {
        var options = MergeWorkload.options(usesRuns: false)
        options.limits.checkpointPages = 100
        options.limits.checkpointRetryPages = 20
        options.limits.slice = .zero
        let store = try storeWithLog(options)
        let reader = try SQLiteDatabase(path: store.path, mode: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM logs")
        try store.startMerge(of: .first)
        // The first transaction after the checkpoint updates the length of the write-ahead log.
        try store.mergeSlice()
        while store.database.logPages < 110, store.isMerging { store.performMaintenance() }
        #expect(store.isMerging)
        try reader.execute("COMMIT")
        try store.finishMerge()
        let pages = try Data(contentsOf: URL(filePath: store.path + "-wal")).count / (StoreSchema.pageSize + 24)
        #expect((110..<200).contains(pages))
    }

    @Test("a log that holds only heartbeats is merged after its turns, and its merge is short")
    func changesOnly() throws {
        let store = try open()
        try store.write(IngestGroup(seen: [device("one"): time(1)]))
        try skip(store, toTurn: 4094)
        try store.write(IngestGroup(seen: [device("one"): time(2)]))
        #expect(store.merge?.log == .first)
        var slices = 0
        while store.merge != nil {
            #expect(try store.database.rows("SELECT last_seen - \(start) FROM devices") == ["2"])
            store.performMaintenance()
            slices += 1
        }
        #expect(slices == 5)
        #expect(try store.database.rows("SELECT first_seen - \(start), last_seen - \(start) FROM devices") == ["1|2"])
        // Neither log contains anything: merging them does nothing.
        try store.mergeLogs()
        #expect(store.merge == nil && !store.needsMaintenance)
    }

    @Test("a device that appears during a merge is shown, and merged with the next log")
    func newDevice() throws {
        let store = try open()
        for name in ["a", "b"] { try store.write(received(acceleration([1]), from: device(name))) }
        try store.startMerge(of: .first)
        try store.mergeSlice(maxDuration: .zero)
        try store.write(received(acceleration([2]), from: device("c")), received(acceleration([2]), from: device("a")))
        func devices() throws -> [String] {
            try store.database.rows("SELECT device, samples FROM devices ORDER BY device")
        }
        let expected = ["a|2", "b|1", "c|1"]
        #expect(try devices() == expected)
        while store.merge != nil {
            try store.mergeSlice(maxDuration: .zero)
            #expect(try devices() == expected)
        }
        #expect(try store.database.rows("SELECT device_id FROM merged_accelerometer") == ["1", "2"])
        try store.mergeLogs()
        #expect(try devices() == expected)
        #expect(try store.database.integer("SELECT count(*) FROM accelerometer") == 4)
        #expect(try store.database.rows("SELECT first_device FROM logs") == ["0", "0", "0"])
    }
}
