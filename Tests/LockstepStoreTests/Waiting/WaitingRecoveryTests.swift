import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Recovery of what waits", .temporaryFolder)
struct WaitingRecoveryTests {
    @Test("the index read from the table equals the one in memory, also in the middle of a merge", arguments: 1...3)
    func equalIndexes(seed: UInt64) throws {
        let path = TemporaryFolder.path + "/store"
        let streams = StreamCatalog.builtIn.streams + RandomBatches.streams.suffix(1)
        let store = try SQLiteStore(path: path, options: MergeWorkload.options, streams: streams)
        var batches = RandomBatches(seed: seed)
        for round in 0..<4 {
            for _ in 0..<30 { try store.write(batches.group()) }
            if round == 1 { try store.startMerge() }
            if round == 2 { for _ in 0..<5 { try store.mergeSlice(maxDuration: .zero) } }
            let copy = "\(path)-\(round)"
            try store.database.execute("VACUUM INTO '\(copy)'")
            let other = try SQLiteStore(path: copy, options: MergeWorkload.options, streams: streams)
            // Before its first slice, a merge is not recorded.
            #expect(other.isMerging == (round >= 2))
            let done = try store.database.integer("SELECT device_done FROM _merge")
            #expect(description(of: other, after: 0) == description(of: store, after: done))
        }
        #expect(description(of: store, after: 0).count > 50)
    }

    /// What waits of the devices of a merge after one that is done, and of all devices in the open rows.
    private func description(of store: SQLiteStore, after done: Int64) -> [String] {
        var lines: [String] = []
        for (index, first) in [(store.waiting.frozen, done), (store.waiting.open, 0)] {
            for device in index.devices.keys where device > first {
                guard let content = index.devices[device] else { continue }
                let scopes = content.scopes.map { store.scopes.keys[$0].description }.sorted()
                lines.append("\(device) \(content.figures) \(scopes)")
                for stream in content.streams.sorted(by: { $0.table < $1.table }) {
                    // Rows with the same first time may be in any order.
                    let rows = stream.rows.sorted { $0.n < $1.n }
                    lines.append("\(device) \(stream.table) \(rows) \(stream.newest)")
                }
            }
        }
        return lines
    }

    @Test("what waits without samples is recovered")
    func receiptsOnly() throws {
        let path = TemporaryFolder.path + "/store"
        try SQLiteStore(path: path).write(IngestGroup(seen: [device("one"): time(5)]))
        let store = try SQLiteStore(path: path)
        #expect(store.waiting.open.rowCount == 1)
        #expect(try store.database.rows("SELECT last_seen - \(start) FROM devices") == ["5"])
        try store.mergeAll()
        #expect(try store.database.rows("SELECT first_seen - \(start), last_seen - \(start) FROM _devices") == ["5|5"])
        #expect(try store.database.integer("SELECT count(*) FROM _waiting") == 0)
    }
}
