import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("StoreReader", .temporaryFolder)
struct ReaderTests {
    @Test("a reader sees each commit of a collector")
    func duringWrites() throws {
        let (store, path) = try newStore()
        let reader = try StoreReader(path: path)
        try store.write(received(acceleration([1])))
        #expect(try reader.devices().first?.samples == 1)
        try store.database.execute("BEGIN IMMEDIATE; DELETE FROM _waiting")
        #expect(try times(reader) == [1])
        try store.database.execute("COMMIT")
        #expect(try times(reader) == [])
        try store.write(received(acceleration([2])))
        #expect(try times(reader) == [2])
    }

    @Test("a collector can write during a query")
    func openQuery() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1, 2])))
        try StoreReader(path: path).query(stream: .accelerometer) { row in
            try store.write(received(acceleration([row.time.microseconds - start + 10])))
        }
        #expect(try times(StoreReader(path: path)) == [1, 2, 11, 12])
    }

    @Test("a summary of a device has its state and counters")
    func devices() throws {
        let (store, path) = try newStore()
        let change = LifecycleTransition(from: nil, to: .active, since: time(3), reason: "foreground", seq: 1)
        _ = try store.write(
            IngestGroup(
                batches: [
                    received(acceleration([1, 1]), seq: 1), received(acceleration([9]), seq: 9),
                    received(acceleration([9], z: 4), epoch: "f", seq: 3),
                ],
                lifecycles: [device("one"): LifecycleSnapshot(last: change)],
                dropped: [DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [1...4])],
                seen: [device("a", group: "field"): time(7)]))
        let devices = try StoreReader(path: path).devices()
        #expect(devices.map(\.address) == [device("a", group: "field"), device("one")])
        let one = try #require(devices.last)
        #expect(one.state == .active && one.transition?.since == time(3))
        #expect(one.firstSeen == time(1_000_000) && one.lastSample == time(9))
        #expect((one.samples, one.duplicates, one.conflicts) == (2, 1, 1))
        #expect(one.missing == 4 + 2, "batches 5 to 8 of epoch e, and 1 and 2 of epoch f")
        #expect(one.dropped == 3, "batch 1 was received")
    }

    @Test("a verification counts the stored data of each device")
    func verification() throws {
        let (store, path) = try newStore()
        let dropped = DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [1...2])
        let batches = [received(acceleration([1, 2]), seq: 1), received(acceleration([2], z: 5), seq: 5)]
        _ = try store.write(IngestGroup(batches: batches, dropped: [dropped]))
        let found = try #require(try StoreReader(path: path).verification().first)
        #expect(found.address == device("one") && found.conflicts == 1)
        #expect(found.samples == [.init(stream: .accelerometer, count: 2)] && found.device.samples == 2)
        let ledger = try #require(try StoreReader(path: path).verification(counting: false).first)
        #expect(ledger.samples.isEmpty && ledger.device.samples == 2 && ledger.epochs == found.epochs)
        let epoch = try #require(found.epochs.first)
        #expect(epoch.received == [1...1, 5...5] && epoch.dropped == [2...2] && epoch.gaps == [3...4])
    }

    @Test("a verification can be limited to devices")
    func verificationOfDevices() throws {
        let (store, path) = try newStore()
        let (one, two) = (device("one"), device("two"))
        try store.write(received(acceleration([1]), from: one), received(acceleration([1]), from: two))
        let reader = try StoreReader(path: path)
        #expect(try reader.verification().map(\.address) == [one, two])
        #expect(try reader.verification(devices: [two, device("none")]).map(\.address) == [two])
        #expect(try reader.verification(devices: []).isEmpty)
    }

    @Test("samples are compared with the stored samples")
    func comparison() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1, 2, 3], z: .nan)))
        let reader = try StoreReader(path: path)
        var block = acceleration([1, 4], z: .nan)
        block.append(time: time(2), values: [2, 0.5, 0])
        let comparison = try reader.compare(block, of: device("one"))
        #expect(comparison == BlockComparison(present: 1, missing: [start + 4], different: [start + 2]))
        #expect(try reader.compare(block, of: device("none")).missing.count == 3)
    }

    @Test("the integrity check passes for an intact store and reports damage")
    func integrity() throws {
        let (store, path) = try newStore()
        #expect(try StoreReader(path: path).integrityCheck() == [])
        try store.database.execute(
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'states'")
        #expect(try !StoreReader(path: path).integrityCheck().isEmpty)
    }

    @Test("a text with quotes or NUL characters is one value in a statement")
    func literals() throws {
        let (_, path) = try newStore()
        let source = try SQLiteDriver(path: path).source
        for text in ["", "it's", "'", "a\0b", "\0", "x'; DROP TABLE states; --", "ü\\"] {
            let rows = try source.rows("SELECT \(source.literal(text))") { row throws(StoreError) in row.text(at: 0) }
            #expect(rows == [text])
        }
        #expect(try StoreReader(path: path).events(rule: "a'\0").isEmpty)
    }

    private func times(_ reader: StoreReader) throws -> [Int64] {
        var times: [Int64] = []
        try reader.query(stream: .accelerometer) { times.append($0.time.microseconds - start) }
        return times
    }
}
