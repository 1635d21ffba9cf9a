import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Pages that a commit changes", .temporaryFolder)
struct WaitingPageTests {
    private static let devices = 2000

    /// Returns a group with one sample of each of some devices, which arrive in any order.
    private func group(_ number: Int, devices: Range<Int>) -> IngestGroup {
        IngestGroup(
            batches: devices.reversed().map { index in
                received(
                    acceleration([Int64(number * 1000 + index)]), from: device("d\(index)"), seq: Int64(number + 1))
            })
    }

    @Test("a commit of single samples of many devices fills new pages, and changes only a few earlier ones")
    func appends() throws {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        let store = try newStore(options).store
        // The first message of a device adds rows to other tables.
        try store.write(group(0, devices: 0..<Self.devices))
        var (frames, pages) = (store.database.logPages, try store.database.integer("PRAGMA page_count"))
        var earlier: [Int] = []
        for number in 1...10 {
            try store.write(group(number, devices: 0..<Self.devices / 2))
            let (length, size) = (store.database.logPages, try store.database.integer("PRAGMA page_count"))
            earlier.append(Int(length) - Int(frames) - Int(size - pages))
            (frames, pages) = (length, size)
        }
        // The first page of the file, the last leaf and its inner page, sometimes the one above.
        #expect(earlier.allSatisfy { $0 <= 5 }, "\(earlier)")
        // Only the last leaf has free space.
        let (leaves, used) = try (
            store.database.integer("SELECT count(*) FROM dbstat WHERE name = '_waiting' AND pagetype = 'leaf'"),
            store.database.integer(
                "SELECT sum(pgsize - unused) FROM dbstat WHERE name = '_waiting' AND pagetype = 'leaf'")
        )
        #expect(leaves > 100 && Double(used) > 0.9 * Double(StoreSchema.pageSize) * Double(leaves - 1))
    }
}
