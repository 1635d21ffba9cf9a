import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("What waits besides samples", .temporaryFolder)
struct WaitingChangeTests {
    private let path = TemporaryFolder.path + "/store"

    @Test("a device that gets the id of a device that was not stored gets nothing else from it")
    func reusedID() throws {
        let store = try SQLiteStore(path: path)
        let snapshot = LifecycleSnapshot(evidenceTime: time(9))
        var failing = IngestGroup(
            batches: [received(acceleration([1, 2]), from: device("first"), seq: 1)],
            rejected: [RejectedMessage(at: time(1), topic: "bad", reason: "bad", size: 1, head: [])],
            lifecycles: [device("first"): snapshot])
        try store.database.execute(
            "CREATE TEMP TRIGGER trap BEFORE INSERT ON main.rejected BEGIN SELECT RAISE(ABORT, 'trap'); END")
        _ = try storeError { _ = try store.write(failing) }
        try store.write(received(acceleration([3]), from: device("second"), seq: 7))
        failing.rejected = []
        try store.write(failing)
        try store.mergeAll()
        #expect(
            try store.database.rows("SELECT device, first, last FROM batches JOIN _devices USING (device_id)")
                .sorted() == ["first|1|1", "second|7|7"])
        #expect(
            try store.database.rows("SELECT device, samples, rests_on - \(start) FROM devices ORDER BY device")
                == ["first|2|9", "second|1|-"])
    }

    @Test("the number of a batch without samples is stored", arguments: [false, true])
    func emptyBatch(hasRows: Bool) throws {
        let key = DeviceEpoch(device: device("one"), epoch: epoch("e"))
        do {
            let store = try SQLiteStore(path: path)
            if hasRows { try store.write(received(acceleration([1]), seq: 1), received(acceleration([]), seq: 2)) }
            try store.write(received(acceleration([]), seq: 3))
        }
        let store = try SQLiteStore(path: path)
        let report = DroppedBatches(device: key.device, epoch: key.epoch, ranges: [])
        let expected: SequenceSet = hasRows ? [1...3] : [3...3]
        #expect(try store.write(IngestGroup(dropped: [report])).received == [key: expected])
        try store.mergeAll()
        #expect(try store.database.rows("SELECT first, last FROM batches") == [hasRows ? "1|3" : "3|3"])
        #expect(try store.database.rows("SELECT last_seen - \(start) FROM devices") == ["1000000"])
    }

    @Test(
        "a number outside the valid range is not stored, but the samples are",
        arguments: [0, -1, (1 << 53) + 1, Int64.max] as [Int64], [1, 300] as [Int64])
    func invalidNumber(number: Int64, count: Int64) throws {
        do {
            let store = try SQLiteStore(path: path)
            // The second batch is repeated, so it has no row of its own.
            try store.write(
                received(acceleration(0..<count), seq: number), received(acceleration(0..<count), seq: number))
            try store.write(received(acceleration(0..<count), seq: number))
            #expect(try store.database.rows("SELECT first, last FROM batches").isEmpty)
        }
        let store = try SQLiteStore(path: path)
        try store.mergeAll()
        #expect(try store.database.rows("SELECT first, last FROM batches").isEmpty)
        #expect(try store.database.rows("SELECT samples, duplicates FROM devices") == ["\(count)|\(2 * count)"])
    }
}
