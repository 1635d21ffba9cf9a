import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("When samples wait, and for how long", .temporaryFolder)
struct WaitingLimitTests {
    private func isUnion(_ stream: String, _ store: SQLiteStore) throws -> Bool {
        try #require(try store.database.text("SELECT sql FROM sqlite_schema WHERE name = '\(stream)'")).contains(
            "UNION")
    }

    @Test("a merge starts at some pages of each device and stream, within limits")
    func fullSize() {
        let limits = MergeLimits()
        for (streams, size) in [
            (0, 262_144), (10, 262_144), (100, 1_638_400), (1000, 16_384_000), (4000, 65_536_000), (9999, 67_108_864),
        ] {
            #expect(limits.fullSize(streams: streams, pageSize: 2048) == size)
        }
        #expect(limits.dueShare(size: 0, fullSize: 100) == -1 && limits.dueShare(size: 25, fullSize: 100) == 0)
        #expect(limits.dueShare(size: 50, fullSize: 100) == 1)
    }

    @Test("batches that fill pages go to the table, and its view stays that of the table alone")
    func direct() throws {
        let store = try newStore(MergeWorkload.options).store
        try store.write(received(acceleration(0..<100), seq: 1))
        try store.write(received(acceleration(100..<200), seq: 2))
        #expect(try store.database.integer("SELECT count(*) FROM _accelerometer") == 200)
        #expect(try store.database.rows("SELECT count, batches, rows FROM _waiting") == ["100|1|-", "100|2|-"])
        #expect(try !isUnion("accelerometer", store))
        #expect(try store.database.rows("SELECT samples, last_t - \(start) FROM devices") == ["200|199"])
        #expect(try store.database.rows("SELECT first, last FROM batches") == ["1|1", "2|2"])
        // SQLite replaces the view by the table: it finds the newest sample by the key.
        let plan = try store.database.prepare(
            "EXPLAIN QUERY PLAN SELECT max(t), avg(x) FROM accelerometer WHERE device_id = 1")
        #expect(try plan.step() && plan.text(at: 3) == "SEARCH _accelerometer USING PRIMARY KEY (device_id=?)")
        // Small batches wait.
        try store.write(received(acceleration(200..<210), seq: 3))
        #expect(try isUnion("accelerometer", store))
        #expect(try store.database.rows("SELECT count(*), max(t) - \(start) FROM accelerometer") == ["210|209"])
        try store.startMerge()
        try store.finishMerge()
        // More of them will come soon.
        #expect(try isUnion("accelerometer", store))
        try store.write(received(acceleration(300..<400), seq: 4))
        try store.startMerge()
        try store.finishMerge()
        #expect(try !isUnion("accelerometer", store))
        #expect(try store.database.rows("SELECT count(*) FROM accelerometer") == ["310"])
        #expect(try store.database.rows("SELECT first, last FROM batches") == ["1|4"])
    }

    @Test("while samples wait, a query by device and time searches the table by its key")
    func plans() throws {
        let store = try newStore(MergeWorkload.options).store
        try store.write(received(acceleration(0..<100), seq: 1))
        try store.write(received(acceleration([200]), seq: 2))
        #expect(try isUnion("accelerometer", store))
        for condition in [
            "device_id = 1 ORDER BY t DESC LIMIT 1",
            "device_id = (SELECT device_id FROM devices WHERE device = 'left') ORDER BY t DESC LIMIT 5",
            "device_id = 1 AND t >= 0",
        ] {
            let plan = try store.database.rows("EXPLAIN QUERY PLAN SELECT t, x FROM accelerometer WHERE \(condition)")
            #expect(plan.contains { $0.contains("SEARCH _accelerometer USING PRIMARY KEY (device_id=?") }, "\(plan)")
            for word in ["SCAN _accelerometer", "MATERIALIZE accelerometer", "CO-ROUTINE accelerometer"] {
                #expect(!plan.contains { $0.contains(word) }, "\(plan)")
            }
        }
        let join = "SELECT x FROM accelerometer JOIN _devices USING (device_id) WHERE device = 'left'"
        let plan = try store.database.rows("EXPLAIN QUERY PLAN \(join)")
        #expect(!plan.contains { $0.contains("MATERIALIZE accelerometer") }, "\(plan)")
    }

    @Test("a file that was salvaged without the row of '_merge' shows what waits, and keeps it")
    func salvaged() throws {
        let (store, path) = try newStore(MergeWorkload.options)
        try store.write(received(acceleration([0, 10]), seq: 1))
        try store.database.execute("DELETE FROM _merge")
        #expect(try store.database.integer("SELECT count(*) FROM accelerometer") == 2)
        withExtendedLifetime(consume store) {}
        let reopened = try SQLiteStore(path: path)
        try reopened.mergeAll()
        #expect(try reopened.database.integer("SELECT count(*) FROM _accelerometer") == 2)
    }

    @Test("the change of a view is reverted with its transaction, and a restart keeps the view that is needed")
    func viewChanges() throws {
        let (first, path) = try newStore(MergeWorkload.options)
        try first.write(received(acceleration(0..<100)))
        try first.add(IngestGroup(batches: [received(acceleration([200]))]))
        first.rollBack()
        #expect(try !isUnion("accelerometer", first))
        try first.write(received(acceleration([300])))
        #expect(try isUnion("accelerometer", first))
        withExtendedLifetime(consume first) {}
        let second = try SQLiteStore(path: path)
        #expect(try isUnion("accelerometer", second))
        #expect(try second.database.integer("SELECT count(*) FROM accelerometer") == 101)
        second.close()
        #expect(try !isUnion("accelerometer", second))
        #expect(try second.database.integer("SELECT count(*) FROM accelerometer") == 101)
    }

    @Test("runs of consecutive batches are one row, with the numbers of all of them")
    func batches() throws {
        let store = try newStore(MergeWorkload.options).store
        var group = IngestGroup()
        for (offset, seq) in [(0, 1), (10, 2), (20, 3), (30, 7), (40, 9), (50, 10)] as [(Int64, Int64)] {
            group.append(received(acceleration([offset]), seq: seq))
        }
        group.append(received(acceleration([60]), epoch: "f", seq: 1))
        group.append(received(acceleration([70]), epoch: "f", seq: nil))
        try store.write(group)
        #expect(
            try store.database.rows("SELECT epoch, batches, count, first_t - \(start), last_t - \(start) FROM _waiting")
                == ["e|[[1,3],7,[9,10]]|6|0|50", "f|1|1|60|60", "-|-|1|70|70"])
        let expected = ["e|1|3", "e|7|7", "e|9|10", "f|1|1"]
        #expect(try store.database.rows("SELECT epoch, first, last FROM batches ORDER BY 1, 2") == expected)
        let path = store.path
        withExtendedLifetime(consume store) {}
        let reopened = try SQLiteStore(path: path)
        try reopened.mergeAll()
        #expect(try reopened.database.rows("SELECT epoch, first, last FROM _batches ORDER BY 1, 2") == expected)
        #expect(try reopened.database.integer("SELECT count(*) FROM _accelerometer") == 8)
    }

    @Test("without maintenance, a merge ends before the next one is due")
    func pace() throws {
        var options = MergeWorkload.options
        options.limits.minSize = 20_000
        options.limits.pagesPerStream = 0
        let store = try newStore(options).store
        var offset: Int64 = 0
        var progress: [Double] = []
        var greatest = 0
        while offset < 3000 {
            var group = IngestGroup()
            for number in 0..<10 { group.append(received(acceleration([offset]), from: device("d\(number)"))) }
            try store.write(group)
            offset += 1
            if let merge = store.merge { progress.append(merge.progress) }
            greatest = max(greatest, store.waiting.open.size)
        }
        // Up to a quarter of the size of the next merge, it waits for maintenance.
        #expect(progress.prefix(5).allSatisfy { $0 == 0 } && progress.contains { $0 > 0 })
        #expect(greatest < 22_000)
        #expect(try store.database.integer("SELECT count(*) FROM accelerometer") == 30_000)
        try store.mergeAll()
        #expect(try store.database.integer("SELECT count(*) FROM _accelerometer") == 30_000)
    }

    @Test("after ten minutes, a merge starts although little waits")
    func age() throws {
        var options = MergeWorkload.options
        options.limits.maxAge = .zero
        let store = try newStore(options).store
        try store.write(IngestGroup(seen: [device("one"): time(1)]))
        #expect(store.isMerging && store.needsMaintenance)
        while store.needsMaintenance {
            #expect(
                try store.database.rows("SELECT first_seen - \(start), last_seen - \(start) FROM devices") == ["1|1"])
            store.performMaintenance()
        }
        #expect(try store.database.rows("SELECT first_seen - \(start), last_seen - \(start) FROM _devices") == ["1|1"])
        #expect(try store.database.integer("SELECT count(*) FROM _waiting") == 0)
    }

    /// Returns a store with ten waiting samples of each of 400 devices, and an empty write-ahead log.
    private func storeWithRows(_ options: SQLiteStore.Options) throws -> SQLiteStore {
        let store = try newStore(options).store
        var group = IngestGroup()
        for number in 0..<400 { group.append(received(acceleration(0..<10), from: device("d\(number)"))) }
        try store.write(group)
        try store.database.checkpoint(truncate: true)
        return store
    }

    @Test("a merge that has to be finished copies the write-ahead log meanwhile")
    func checkpoints() throws {
        var options = MergeWorkload.options
        options.limits.checkpointPages = 100
        options.limits.slice = .zero
        let store = try storeWithRows(options)
        try store.startMerge()
        try store.finishMerge()
        let pages = try Data(contentsOf: URL(filePath: store.path + "-wal")).count / (StoreSchema.pageSize + 24)
        #expect((100..<200).contains(pages))
    }

    @Test("the write-ahead log starts again during a merge after a reader has prevented it once")
    func checkpointAfterReader() throws {
        var options = MergeWorkload.options
        options.limits.checkpointPages = 100
        options.limits.checkpointRetryPages = 20
        options.limits.slice = .zero
        let store = try storeWithRows(options)
        let reader = try SQLiteDatabase(path: store.path, mode: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM _merge")
        try store.startMerge()
        // The first transaction after the checkpoint updates the length of the write-ahead log.
        try store.mergeSlice()
        while store.database.logPages < 110, store.isMerging { store.performMaintenance() }
        #expect(store.isMerging)
        try reader.execute("COMMIT")
        try store.finishMerge()
        let pages = try Data(contentsOf: URL(filePath: store.path + "-wal")).count / (StoreSchema.pageSize + 24)
        #expect((110..<200).contains(pages))
    }

    @Test("a device that appears during a merge is shown, and merged with the next one")
    func newDevice() throws {
        let store = try newStore(MergeWorkload.options).store
        for name in ["a", "b"] { try store.write(received(acceleration([1]), from: device(name))) }
        try store.startMerge()
        try store.mergeSlice(maxDuration: .zero)
        try store.write(received(acceleration([2]), from: device("c")), received(acceleration([2]), from: device("a")))
        func devices() throws -> [String] {
            try store.database.rows("SELECT device, samples FROM devices ORDER BY device")
        }
        let expected = ["a|2", "b|1", "c|1"]
        #expect(try devices() == expected)
        while store.isMerging {
            try store.mergeSlice(maxDuration: .zero)
            #expect(try devices() == expected)
        }
        #expect(try store.database.rows("SELECT device_id FROM _accelerometer") == ["1", "2"])
        // What was appended meanwhile keeps its numbers.
        #expect(try store.database.rows("SELECT n FROM _waiting") == ["3", "4"])
        try store.mergeAll()
        #expect(try devices() == expected)
        #expect(try store.database.rows("SELECT upto, device_done FROM _merge") == ["4|0"])
        try store.write(received(acceleration([9]), from: device("c")))
        #expect(try store.database.rows("SELECT n FROM _waiting") == ["5"])
    }
}
