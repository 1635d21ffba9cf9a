import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Maintenance of a store", .temporaryFolder)
struct MaintenanceTests {
    @Test("when the log is long, maintenance is needed, and it restarts the log")
    func log() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store")
        #expect(!store.needsMaintenance)
        var commits: Int64 = 0
        // Each commit writes at least one page.
        while !store.needsMaintenance, commits < 9000 {
            try store.write(received(acceleration(commits...commits), seq: commits + 1))
            commits += 1
        }
        // A commit writes at most five pages here, so the checkpoint was not requested too early.
        #expect(store.needsMaintenance && commits > 800)
        while store.needsMaintenance { store.performMaintenance() }
        try store.write(received(acceleration([commits]), seq: commits + 1))
        #expect(!store.needsMaintenance)
        #expect(try StoreReader(path: store.path).devices().map(\.samples) == [commits + 1])
    }
}
