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

    @Test(
        "at the end, the logs and runs of few devices are merged, and those of many are kept", arguments: [1000, 1001],
        [false, true])
    func end(devices: Int64, usesRuns: Bool) throws {
        let path = TemporaryFolder.path + "/store"
        let store = try SQLiteStore(path: path, options: MergeWorkload.options(usesRuns: usesRuns))
        var group = IngestGroup()
        for number in 1...devices {
            group.clocks.append(
                DeviceClock(
                    device: device("d\(number)"), epoch: epoch("e"),
                    point: ClockPoint(
                        collector: CollectorID(unchecked: "main"), time: time(number), segment: time(0), offset: number,
                        skew: 0, bound: 1, skewBound: 0)))
        }
        try store.write(group)
        if usesRuns {
            try store.startMerge(of: store.activeLog)
            try store.finishMerge()
            #expect(store.runs.rows == Int(devices))
        }
        store.close()
        let reader = try StoreReader(path: path)
        let isKept = try reader.database.integer("SELECT count(*) FROM merged_clocks") == 0
        #expect(isKept == (devices > 1000))
        #expect(try reader.newestClocks().map(\.point.offset).sorted() == Array(1...devices))
    }
}
