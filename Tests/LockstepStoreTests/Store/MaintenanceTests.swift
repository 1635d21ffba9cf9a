import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Maintenance of a store", .temporaryFolder)
struct MaintenanceTests {
    @Test("when the log is long, maintenance is needed, and it restarts the log")
    func log() throws {
        var options = SQLiteStore.Options()
        options.limits.checkpointPages = 2000
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store", options: options)
        #expect(!store.needsMaintenance)
        var commits: Int64 = 0
        // Each commit writes at least one page.
        while !store.needsMaintenance, commits < 3000 {
            try store.write(received(acceleration(commits...commits), seq: commits + 1))
            commits += 1
        }
        // A commit writes at most five pages here, so the checkpoint was not requested too early.
        #expect(store.needsMaintenance && commits > 200)
        while store.needsMaintenance { store.performMaintenance() }
        try store.write(received(acceleration([commits]), seq: commits + 1))
        #expect(!store.needsMaintenance)
        #expect(try StoreReader(path: store.path).devices().map(\.samples) == [commits + 1])
    }

    @Test("at the end, what waits is merged unless it is much", arguments: [false, true])
    func end(isMuch: Bool) throws {
        let path = TemporaryFolder.path + "/store"
        var options = MergeWorkload.options
        if isMuch { options.limits.maxSizeAtStop = 1000 }
        let store = try SQLiteStore(path: path, options: options)
        var group = IngestGroup(batches: [received(acceleration([1]))])
        for number in 1...100 as ClosedRange<Int64> {
            group.clocks.append(
                DeviceClock(
                    device: device("d\(number)"), epoch: epoch("e"),
                    point: ClockPoint(
                        collector: CollectorID(unchecked: "main"), time: time(number), segment: time(0), offset: number,
                        skew: 0, bound: 1, skewBound: 0)))
        }
        try store.write(group)
        store.close()
        let reader = try StoreReader(path: path)
        #expect(try reader.database.integer("SELECT count(*) FROM _waiting") == (isMuch ? 101 : 0))
        let sql = try #require(try reader.database.text("SELECT sql FROM sqlite_schema WHERE name = 'accelerometer'"))
        #expect(sql.contains("UNION") == isMuch)
        #expect(try reader.newestClocks().map(\.point.offset).sorted() == Array(1...100))
    }
}
