import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Recovery of logs", .temporaryFolder)
struct LogRecoveryTests {
    @Test("the index read from a log equals the one in memory, also in the middle of a merge", arguments: 1...3)
    func equalIndexes(seed: UInt64) throws {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        let store = try SQLiteStore(
            path: TemporaryFolder.path + "/store", options: options,
            streams: StreamCatalog.builtIn.streams + RandomBatches.streams.suffix(1))
        var batches = RandomBatches(seed: seed)
        var model = StoreModel(streams: RandomBatches.streams)
        func write() throws {
            for _ in 0..<30 {
                let group = batches.group()
                try store.write(group)
                _ = model.write(group)
            }
        }
        try write()
        try store.startMerge(of: .first)
        try write()
        var numbers: [String: SequenceSet] = [:]
        for log in LogNumber.allCases {
            for (number, entry) in try recovery(log, store).batches {
                let key = store.scopes.keys[number]
                numbers["\(key.device.device) \(key.epoch)", default: []].formUnion(entry.numbers)
            }
        }
        #expect(numbers == model.content.batches)
        var slices = 0
        while store.merge != nil {
            let firstDevice = try store.database.integer("SELECT first_device FROM logs WHERE log = 1")
            try compare(.first, from: firstDevice, store)
            try compare(.second, from: 0, store)
            try store.mergeSlice(maxDuration: .zero)
            slices += 1
        }
        #expect(slices > 8)
        let empty = try recovery(.first, store)
        #expect(
            empty.index.devices.keys.isEmpty && empty.lastTurn == 0 && !empty.isMerging
                && store.logs[.first].isEmpty)
        try compare(.second, from: 0, store)
    }

    @Test("a log without rows of samples is recovered")
    func changesOnly() throws {
        let path = TemporaryFolder.path + "/store"
        try SQLiteStore(path: path).write(IngestGroup(seen: [device("one"): time(5)]))
        let store = try SQLiteStore(path: path)
        #expect(!store.logs[.first].isEmpty && store.logs[.first].lastTurn == 1)
        #expect(try store.database.rows("SELECT last_seen - \(start) FROM devices") == ["5"])
        try store.mergeLogs()
        #expect(
            try store.database.rows("SELECT first_seen - \(start), last_seen - \(start) FROM merged_devices") == ["5|5"]
        )
        #expect(try store.database.integer("SELECT count(*) FROM log1_changes") == 0)
    }

    private func recovery(_ log: LogNumber, _ store: SQLiteStore) throws -> LogRecovery {
        var tables: [Int64: Int] = [:]
        for (index, table) in store.tables.enumerated() {
            if let stream = try LogSchema.find(table.stream, in: store.database) { tables[stream.id] = index }
        }
        // Scopes that the store knows keep their numbers.
        var scopes = store.scopes
        return try LogRecovery(log, tables: tables, &scopes, in: store.database)
    }

    /// Compares the index of the devices that are not merged yet.
    private func compare(_ log: LogNumber, from firstDevice: Int64, _ store: SQLiteStore) throws {
        let recovery = try recovery(log, store)
        let writer = store.logs[log]
        #expect(recovery.isMerging == (firstDevice > 0))
        let expected = writer.index.devices.keys.filter { $0 >= firstDevice }
        #expect(recovery.index.devices.keys == expected)
        #expect(recovery.index.rows == expected.reduce(0) { $0 + (writer.index.devices[$1]?.rows ?? 0) })
        if !expected.isEmpty { #expect(recovery.lastTurn == writer.lastTurn) }
        for id in recovery.index.devices.keys {
            let device = try #require(recovery.index.devices[id])
            let other = try #require(writer.index.devices[id])
            #expect(device.figures == other.figures && device.rows == other.rows, "device \(id)")
            #expect(Set(device.scopes) == Set(other.scopes), "device \(id)")
            #expect(spans(of: device) == spans(of: other), "device \(id)")
        }
    }

    /// The first and last time of each turn of each stream, and the newest time of each stream.
    private func spans(of device: LogIndex.Device) -> [String: ClosedRange<Int64>] {
        var spans: [String: ClosedRange<Int64>] = [:]
        for stream in device.streams {
            for segment in stream.segments {
                let key = "\(stream.table) \(segment.turn)"
                let known = spans[key] ?? segment.first...segment.last
                spans[key] = min(known.lowerBound, segment.first)...max(known.upperBound, segment.last)
            }
            spans["\(stream.table) newest"] = stream.newest...stream.newest
        }
        return spans
    }
}
