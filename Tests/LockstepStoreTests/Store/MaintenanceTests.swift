import LockstepModel
import Testing

@testable import LockstepStore

@Suite("Maintenance of a store", .temporaryFolder)
struct MaintenanceTests {
    @Test("when the log is long, maintenance is needed, and it restarts the log")
    func log() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store")
        #expect(!store.needsMaintenance)
        var commits: Int64 = 0
        // Each commit writes at least two pages.
        while !store.needsMaintenance, commits < 4000 {
            try store.write(received(acceleration(commits...commits), seq: commits + 1))
            commits += 1
        }
        // A commit writes at most five pages here, so the checkpoint was not requested too early.
        #expect(store.needsMaintenance && commits > 800)
        store.performMaintenance()
        #expect(!store.needsMaintenance, "a caller that continues while it is true would never end")
        try store.write(received(acceleration([commits]), seq: commits + 1))
        #expect(!store.needsMaintenance)
        #expect(try StoreReader(path: store.path).devices().map(\.samples) == [commits + 1])
    }
}
