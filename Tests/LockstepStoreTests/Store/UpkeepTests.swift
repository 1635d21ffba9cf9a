import LockstepModel
import Testing

@testable import LockstepStore

@Suite("The upkeep of a store", .temporaryFolder)
struct UpkeepTests {
    @Test("is due when the log is long, and makes it start anew")
    func log() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store")
        #expect(!store.needsMaintenance)
        var commits: Int64 = 0
        // Each writes two pages at least.
        while !store.needsMaintenance, commits < 4000 {
            try store.write(received(acceleration(commits...commits), seq: commits + 1))
            commits += 1
        }
        // Not before it is as long as it may be, and a commit writes no more than five pages here.
        #expect(store.needsMaintenance && commits > 800)
        store.performMaintenance()
        try store.write(received(acceleration([commits]), seq: commits + 1))
        #expect(!store.needsMaintenance)
        #expect(try StoreReader(path: store.path).devices().map(\.samples) == [commits + 1])
    }
}
