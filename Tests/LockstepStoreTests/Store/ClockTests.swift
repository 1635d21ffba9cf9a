import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Clock estimates in a store", .temporaryFolder)
struct ClockTests {
    private let path = TemporaryFolder.path + "/store"

    private func point(_ time: Int64, offset: Int64, collector: String = "main") -> ClockPoint {
        ClockPoint(
            collector: CollectorID(unchecked: collector), time: Timestamp(microseconds: time),
            segment: Timestamp(microseconds: 1), offset: offset, skew: -1234, bound: 56, skewBound: 789)
    }

    private func group(_ points: [ClockPoint], of name: String = "one") -> IngestGroup {
        var group = IngestGroup()
        group.clocks = points.map { DeviceClock(device: device(name), epoch: Epoch(unchecked: "e"), point: $0) }
        return group
    }

    @Test("are stored once, and read in order of time")
    func roundTrip() throws {
        let store = try SQLiteStore(path: path)
        let points = [point(2000, offset: 7), point(1000, offset: -7)]
        #expect(!group(points).isEmpty && group(points).isDeferrable)
        try store.write(group(points))
        // A retained presence is received again after each connect.
        try store.write(group(points))
        let reader = try StoreReader(path: path)
        #expect(try reader.clockPoints(of: device("one")) == points.reversed())
        #expect(try reader.clockPoints(of: device("two")).isEmpty)
        #expect(try reader.newestClocks().map(\.point) == [points[0]])
        #expect(try reader.database.integer("SELECT count(*) FROM clocks WHERE skew = -1.234") == 2)
    }

    @Test("of a device whose row was deleted do not stop a merge, also after a restart", arguments: [false, true])
    func deletedDevice(isRestarted: Bool) throws {
        var store: SQLiteStore? = try SQLiteStore(path: path)
        try store?.write(group([point(1000, offset: 1)]))
        try store?.write(group([point(2000, offset: 2)], of: "two"))
        try store?.database.execute("DELETE FROM _devices WHERE device = 'one'")
        if isRestarted {
            store = nil
            store = try SQLiteStore(path: path)
        }
        let merged = try #require(store)
        try merged.mergeAll()
        #expect(try merged.database.rows("SELECT device_id, t FROM _clocks") == ["1|1000", "2|2000"])
        #expect(try merged.database.integer("SELECT count(*) FROM _waiting") == 0)
    }

    @Test("are discarded with a transaction that is rolled back")
    func rollBack() throws {
        let store = try SQLiteStore(path: path)
        try store.add(group([point(1000, offset: 1)]))
        store.rollBack()
        #expect(try StoreReader(path: path).newestClocks().isEmpty)
    }

    @Test("of a time range include the nearest ones before and after it")
    func range() throws {
        let store = try SQLiteStore(path: path)
        let hour: Int64 = 3_600_000_000
        try store.write(group((0..<10).map { point($0 * 2 * hour, offset: $0) }))
        let points = try StoreReader(path: path).clockPoints(
            of: device("one"), from: Timestamp(microseconds: 8 * hour), to: Timestamp(microseconds: 8 * hour + 1))
        #expect(points.map(\.offset) == [3, 4, 5])
    }

    @Test("of a time range on the collector's clock are those of that time, however the device's clock was set")
    func collectorRange() throws {
        let store = try SQLiteStore(path: path)
        let hour: Int64 = 3_600_000_000
        // The device's clock begins at 0 again after each point, two hours apart.
        try store.write(group((0..<10).map { point($0, offset: $0 - $0 * 2 * hour) }))
        let points = try StoreReader(path: path).clockPoints(
            of: device("one"), from: Timestamp(microseconds: 8 * hour), to: Timestamp(microseconds: 8 * hour + 1),
            on: .collector)
        #expect(points.map(\.time.microseconds) == [3, 4, 5])
    }

    @Test("are those against the collector with the most of them")
    func collectors() throws {
        let store = try SQLiteStore(path: path)
        try store.write(
            group([
                point(1000, offset: 1, collector: "a"), point(2000, offset: 2, collector: "b"),
                point(3000, offset: 3, collector: "b"),
            ]))
        #expect(try StoreReader(path: path).clockPoints(of: device("one")).map(\.offset) == [2, 3])
    }

    @Test("the newest one is the newest on the collector's clock, even if the device's clock was set back")
    func newest() throws {
        let store = try SQLiteStore(path: path)
        try store.write(group([point(10_000, offset: 9000), point(2000, offset: 500)]))
        #expect(try StoreReader(path: path).newestClocks().map(\.point.offset) == [500])
    }

    @Test("of several devices are read one after another, also after a commit")
    func severalDevices() throws {
        let store = try SQLiteStore(path: path)
        let reader = try StoreReader(path: path)
        for count in 1...3 {
            // One scan serves all devices.
            for name in ["a", "bb", "ccc"] {
                try store.write(group([point(Int64(count) * 1000, offset: Int64(name.count))], of: name))
            }
            for name in ["a", "bb", "ccc", "a"] {
                let offsets = try reader.clockPoints(of: device(name)).map(\.offset)
                #expect(offsets == Array(repeating: Int64(name.count), count: count))
            }
        }
    }

    @Test("are shown once while they wait and are in the table")
    func merging() throws {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        let store = try SQLiteStore(path: path, options: options)
        let points = (1...6).map { point($0 * 1000, offset: $0, collector: $0 % 2 == 0 ? "a" : "b") }
        func check(_ count: Int) throws {
            let reader = try StoreReader(path: path)
            let expected = points.prefix(count)
            #expect(try reader.database.integer("SELECT count(*) FROM clocks") == Int64(count))
            // Those of "b" if there are more of them, and otherwise those of "a".
            let collector = count % 2 == 0 ? "a" : "b"
            let chosen = expected.filter { $0.collector.rawValue == collector }
            #expect(try reader.clockPoints(of: device("one")) == chosen)
            // The nearest ones before and after a range, which may be in different tables.
            #expect(
                try reader.clockPoints(
                    of: device("one"), from: Timestamp(microseconds: -4_000_000_000),
                    to: Timestamp(microseconds: -4_000_000_000)) == Array(chosen.prefix(1)))
            #expect(try reader.newestClocks().map(\.point) == Array(expected.suffix(1)))
            #expect(try reader.newestClocks(of: 1)[1] == expected.last)
        }
        for count in 1...6 {
            try store.write(group(Array(points.prefix(count))))
            try check(count)
            // All wait; then all are in the table; then some are in both, also in the middle of a merge.
            if count == 2 { try store.mergeAll() }
            if count == 4 { try store.startMerge() }
            if count == 5 { try store.mergeSlice(maxDuration: .zero) }
            try check(count)
            try store.write(group(Array(points.prefix(count))))
            try check(count)
        }
        try store.mergeAll()
        try check(6)
        #expect(try store.database.integer("SELECT count(*) FROM _clocks") == 6)
        #expect(try store.database.integer("SELECT count(*) FROM _waiting") == 0)
    }

    @Test("many estimates of a commit change few pages")
    func pages() throws {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        let store = try SQLiteStore(path: path, options: options)
        func estimates(_ time: Int64) -> IngestGroup {
            var group = IngestGroup()
            for index in 0..<500 { group.clocks += self.group([point(time, offset: 1)], of: "d\(index)").clocks }
            return group
        }
        try store.write(estimates(1000))
        try store.mergeAll()
        // Each device has a page of older ones.
        try store.database.execute(
            """
            WITH RECURSIVE numbers (number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM numbers WHERE number < 60)
            INSERT INTO _clocks
            SELECT device_id, collector, epoch, number + 1000, segment, offset, skew, bound, skew_bound
            FROM _clocks CROSS JOIN numbers
            """)
        try store.database.checkpoint(truncate: true)
        try store.write(estimates(2000))
        // 500 rows of about 60 bytes.
        #expect(store.database.logPages < 20)
    }
}
