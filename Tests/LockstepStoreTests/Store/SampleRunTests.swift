import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepModel
@testable import LockstepStore

@Suite("SampleRun", .temporaryFolder)
struct SampleRunTests {
    private static let batches = [
        received(acceleration(0..<3), seq: 1), received(acceleration(3..<4), seq: 2),
        received(acceleration(2..<6, z: 5), epoch: "other", seq: 1),
    ]

    @Test("a group returns the batches of its runs")
    func batches() {
        let group = IngestGroup(batches: Self.batches + [received(acceleration(9..<10), from: device("two"))])
        #expect(group.runs.map(\.device) == [device("one"), device("two")])
        #expect(group.runs.map(\.samples.count) == [8, 1])
        #expect(group.batches == Self.batches + [received(acceleration(9..<10), from: device("two"))])
    }

    @Test("the batch of a sample is found")
    func origin() {
        let run = IngestGroup(batches: Self.batches).runs[0]
        #expect((0..<8).map { run.batch(of: $0).end } == [3, 3, 3, 4, 8, 8, 8, 8])
    }

    @Test("removing the last batch restores the previous run")
    func removing() {
        var run = IngestGroup(batches: Self.batches).runs[0]
        run.removeLast()
        #expect(run.received == Array(Self.batches.prefix(2)))
        run.removeLast()
        run.removeLast()
        #expect(run.received.isEmpty && run.samples.isEmpty)
    }

    @Test("a run is stored like its individual batches, with the batch of each conflict")
    func conflicts() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store")
        let result = try store.write(IngestGroup(batches: Self.batches))
        #expect(result.devices == [device("one"): .init(stored: 6, duplicates: 0, conflicts: 2)])
        #expect(
            try store.database.rows("SELECT t - \(start), epoch, seq FROM conflicts ORDER BY t")
                == ["2|other|1", "3|other|1"])
    }

    @Test("groups of one transaction are counted together and become visible with the commit")
    func parts() throws {
        let path = TemporaryFolder.path + "/store"
        let store = try SQLiteStore(path: path)
        try store.add(IngestGroup(batches: [Self.batches[0]]))
        try store.add(IngestGroup(batches: [Self.batches[1]]))
        let reader = try SQLiteDatabase(path: path, mode: .readOnly)
        #expect(try reader.integer("SELECT count(*) FROM _waiting") == 0)
        let result = try store.commit()
        #expect(result.devices == [device("one"): .init(stored: 4)])
        #expect(result.received == [DeviceEpoch(device: device("one"), epoch: epoch("e")): [1...2]])
        #expect(try reader.integer("SELECT samples FROM devices") == 4)
        #expect(try store.commit() == IngestResult())
    }

    @Test("a failure in a later group discards the whole transaction, which can be repeated")
    func failedPart() throws {
        let store = try SQLiteStore(path: TemporaryFolder.path + "/store")
        try store.database.execute(
            "CREATE TEMP TRIGGER trap BEFORE INSERT ON main.rejected BEGIN SELECT RAISE(ABORT, 'trap'); END")
        try store.add(IngestGroup(batches: [Self.batches[0]]))
        let trap = RejectedMessage(at: time(0), topic: "trap", reason: "", size: 0, head: [])
        #expect(throws: StoreError.self) { try store.add(IngestGroup(rejected: [trap])) }
        #expect(try store.commit() == IngestResult())
        #expect(try store.database.integer("SELECT count(*) FROM _waiting") == 0)
        #expect(try store.write(IngestGroup(batches: Self.batches)).devices[device("one")]?.stored == 6)
    }
}
