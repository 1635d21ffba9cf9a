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
        #expect(try reader.database.integer("SELECT count(*) FROM v_clocks WHERE drift_ppm = -1.234") == 2)
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
            of: device("one"), fromCollectorTime: Timestamp(microseconds: 8 * hour),
            to: Timestamp(microseconds: 8 * hour + 1))
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
}
