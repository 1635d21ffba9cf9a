import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

// The deletion of samples that people have asked to delete.
extension StoreTests {
    @Test("samples of a request are deleted, refused when they arrive again, and counted, also by the next collector")
    func deletionRequest() async throws {
        try await withClickHouse { server in
            let first = try open(server)
            let sender = received([1], seq: 1).device
            try first.write(IngestGroup(batches: [received([1, 2, 3, 4, 5], seq: 1)]))
            var group = IngestGroup(batches: [received([3, 6], seq: 2)])
            group.deletions = [
                Deletion(
                    id: "a", device: sender, stream: "motion/accelerometer", times: 2..<5,
                    at: Timestamp(microseconds: 9), who: "anna")
            ]
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            #expect(try reader.preview(of: group.deletions[0]).map(\.count) == [3])
            try first.write(group)
            first.close()
            // Another collector goes on with what is not done.
            let store = try open(server)
            try await expectEventually("the end of the deletion") {
                while store.needsMaintenance { store.performMaintenance() }
                return try reader.deletions(of: sender).first?.done != nil
            }
            let select = "SELECT t FROM accelerometer ORDER BY t"
            #expect(try await server.execute(select) == ["1", "5", "6"])
            try store.write(IngestGroup(batches: [received([4, 7], seq: 3)]))
            #expect(try await server.execute(select) == ["1", "5", "6", "7"])
            let stored = try #require(try reader.deletions(of: nil).first)
            #expect(stored.count == 3 && stored.refused == 2 && stored.deletion == group.deletions[0])
            #expect(try reader.verification(devices: nil).first?.epochs.first?.received == SequenceSet([1...3]))
            store.close()
            #expect(try reader.verification(devices: nil, counting: false).map(\.device.samples) == [4])
        }
    }
}
