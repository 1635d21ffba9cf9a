import Foundation
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Location of a store")
struct StoreLocationTests {
    @Test("a renamed store keeps its id, and a copy has another one")
    func files() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/samples.db"
            #expect(StoreLocation(file: path) == nil)
            let store = try SQLiteStore(path: path)
            let location = try #require(store.location)
            #expect(location.name.hasSuffix("/samples.db") && location.name.hasPrefix("/"))
            #expect(location.id.count == 16 && location.id.allSatisfy(\.isHexDigit))
            store.close()

            try FileManager.default.createSymbolicLink(atPath: folder + "/link.db", withDestinationPath: path)
            #expect(StoreLocation(file: folder + "/link.db") == location)
            try FileManager.default.copyItem(atPath: path, toPath: folder + "/copy.db")
            #expect(try #require(StoreLocation(file: folder + "/copy.db")).id != location.id)
            try FileManager.default.moveItem(atPath: path, toPath: folder + "/moved.db")
            #expect(try #require(StoreLocation(file: folder + "/moved.db")).id == location.id)
        }
    }

    @Test("a local key is only valid on this machine, another one everywhere")
    func machines() {
        #expect(StoreLocation(name: "a", key: "k", isLocal: false).id == "2ba437a975bf0065")
        #expect(StoreLocation(name: "a", key: "k", isLocal: true).id != "2ba437a975bf0065")
        #expect(StoreLocation(name: "a", key: "k", isLocal: true) == StoreLocation(name: "a", key: "k", isLocal: true))
    }
}
