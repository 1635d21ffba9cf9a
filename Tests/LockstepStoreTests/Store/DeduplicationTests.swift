import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Deduplication", .temporaryFolder)
struct DeduplicationTests {
    private typealias Counts = IngestResult.Counts

    @Test("a sample received again is a duplicate, in a later group or in the same batch")
    func duplicates() throws {
        let store = try newStore().store
        let first = try store.write(received(acceleration([1, 2, 2]), seq: 1))
        #expect(first.devices == [device("one"): Counts(stored: 2, duplicates: 1)])
        let second = try store.write(received(acceleration([2, 3]), seq: 1))
        #expect(second.devices == [device("one"): Counts(stored: 1, duplicates: 1)])
        #expect(try store.database.rows("SELECT t - \(start) FROM accelerometer") == ["1", "2", "3"])
        #expect(try store.database.rows("SELECT samples, duplicates, conflicts FROM devices") == ["3|2|0"])
    }

    @Test("samples with the same time in other streams, devices and groups are stored")
    func identity() throws {
        let store = try newStore().store
        let gyroscope = SampleBlock(stream: .gyroscope, times: [start + 1], columns: [[0], [0], [0]])
        let result = try store.write(
            received(acceleration([1])), received(gyroscope), received(acceleration([1]), from: device("two")),
            received(acceleration([1]), from: device("one", group: "field")))
        #expect(result.devices.values.reduce(0) { $0 + $1.stored } == 4)
    }

    @Test("a sample with different values is recorded as a conflict, and the stored sample does not change")
    func conflict() throws {
        let store = try newStore().store
        try store.write(received(acceleration([1]), seq: 1))
        let result = try store.write(received(acceleration([1], z: 3), seq: 2))
        #expect(result.devices == [device("one"): Counts(conflicts: 1)])
        #expect(try store.database.rows("SELECT z FROM accelerometer") == ["-1.0"])
        #expect(
            try store.database.rows(
                "SELECT device_id, stream, t - \(start), stored, received, epoch, seq FROM conflicts")
                == [
                    #"1|motion/accelerometer|1|{"x":1.0,"y":0.5,"z":-1.0}"#
                        + #"|{"x":1.0,"y":0.5,"z":3.0}|e|2"#
                ])
        #expect(try store.database.rows("SELECT json_extract(received, '$.z') FROM conflicts") == ["3.0"])
    }

    @Test("a repeated conflict with the same values is a duplicate, with other values a new conflict")
    func conflictAgain() throws {
        let store = try newStore().store
        try store.write(received(acceleration([1])))
        let result = try store.write(
            received(acceleration([1], z: 3)), received(acceleration([1], z: 3)), received(acceleration([1], z: 4)))
        #expect(result.devices == [device("one"): Counts(duplicates: 1, conflicts: 2)])
        #expect(try store.write(received(acceleration([1], z: 4))).devices.values.first == Counts(duplicates: 1))
        #expect(try store.database.integer("SELECT count(*) FROM conflicts") == 2)
    }

    @Test(
        "differing samples are found at any position of a partially stored batch",
        arguments: [
            // Adjacent times, few and many other rows in between, descending times, and each time twice.
            Array(0..<130), (0..<130).map { $0 * 3 }, (0..<130).map { $0 * 1000 }, (0..<130).reversed(),
            (0..<130).map { $0 / 2 },
        ] as [[Int64]])
    func partiallyStored(_ offsets: [Int64]) throws {
        let store = try newStore().store
        let others = Set(0..<400).subtracting(offsets)
        let old = stride(from: 0, to: 130, by: 7).map { offsets[$0] }
        let changed = offsets[77]
        try store.write(
            received(acceleration(others.sorted())), received(acceleration(old)), received(acceleration([changed])))
        var again = SampleBlock(stream: .accelerometer)
        for offset in offsets {
            again.append(time: time(offset), values: [Double(offset), 0.5, offset == changed ? 9 : -1])
        }
        let counts = try store.write(received(again)).devices.values.first
        let known = Set(old).union([changed])
        let new = Set(offsets).subtracting(known).count
        #expect(counts == Counts(stored: new, duplicates: 130 - new - 1, conflicts: 1))
        let stored = try store.database.rows("SELECT t - \(start) FROM accelerometer ORDER BY t")
        #expect(stored == others.union(offsets).sorted().map { "\($0)" })
    }

    @Test("conflicts are stored up to the limit and counted beyond it")
    func conflictLimit() throws {
        var options = SQLiteStore.Options()
        options.conflictLimit = 3
        let store = try newStore(options).store
        try store.write(received(acceleration(1...5)))
        let first = try store.write(received(acceleration(1...5, z: 3)))
        #expect(first.devices.values.first == Counts(conflicts: 5))
        // Recorded conflicts are recognised when they are received again.
        let second = try store.write(received(acceleration(1...5, z: 3)))
        #expect(second.devices.values.first == Counts(duplicates: 3, conflicts: 2))
        #expect(try store.database.rows("SELECT t - \(start) FROM conflicts") == ["1", "2", "3"])
        #expect(try store.database.integer("SELECT conflicts FROM devices") == 7)
    }

    @Test("a conflict that was rolled back does not count towards the limit")
    func conflictsAfterFailure() throws {
        var options = SQLiteStore.Options()
        options.conflictLimit = 2
        let store = try newStore(options).store
        try store.write(received(acceleration(1...3)))
        try store.database.execute(
            "CREATE TRIGGER trap AFTER INSERT ON conflicts WHEN NEW.t = \(start + 1) BEGIN SELECT RAISE(ABORT, 'trap'); END"
        )
        _ = try storeError { try store.write(received(acceleration([2, 1], z: 3))) }
        try store.database.execute("DROP TRIGGER trap")
        try store.write(received(acceleration(2...3, z: 3)))
        #expect(try store.database.rows("SELECT t - \(start) FROM conflicts") == ["2", "3"])
    }

    @Test("null equals null, and conflicts with any other value")
    func nulls() throws {
        let store = try newStore().store
        let unknown = acceleration([1], z: .nan)
        try store.write(received(unknown))
        #expect(try store.write(received(unknown)).devices.values.first == Counts(duplicates: 1))
        #expect(try store.write(received(acceleration([1]))).devices.values.first == Counts(conflicts: 1))
        #expect(
            try store.database.rows("SELECT stored, received FROM conflicts")
                == [#"{"x":1.0,"y":0.5,"z":null}|{"x":1.0,"y":0.5,"z":-1.0}"#])
    }

    @Test("an integer is stored if its magnitude is below 2^53, as in payloads")
    func largestInteger() throws {
        let store = try newStore().store
        let limit = 9_007_199_254_740_992.0
        var block = SampleBlock(stream: .steps)
        for (offset, count) in [limit - 1, 1 - limit, limit, -limit].enumerated() {
            #expect(SensorStream.Kind.integer.accepts(count) == (count.magnitude < limit))
            block.append(
                time: time(Int64(offset)),
                values: [Double(start), count] + SensorStream.steps.columns.dropFirst(2).map { _ in .nan })
        }
        _ = try store.write(IngestGroup(batches: [received(block)]))
        #expect(
            try store.database.rows("SELECT ifnull(steps, 'null') FROM steps")
                == ["9007199254740991", "-9007199254740991", "null", "null"])
    }

    @Test("integers and words are compared as they are stored")
    func integers() throws {
        let store = try newStore().store
        var steps = SampleBlock(stream: .steps)
        steps.append(time: time(1), values: [Double(start), 3.2, .nan, .nan, .nan, -0.0])
        try store.write(received(steps))
        #expect(try store.write(received(steps)).devices.values.first == Counts(duplicates: 1))
        #expect(try store.database.rows("SELECT start, typeof(steps), steps FROM steps") == ["\(start)|integer|3"])
    }

    @Test("first seen, last seen and newest sample of a device are updated")
    func seen() throws {
        let store = try newStore().store
        var early = received(acceleration([50, 90]))
        early.receivedAt = time(100)
        var late = received(acceleration([10]))
        late.receivedAt = time(200)
        try store.write(late, early)
        _ = try store.write(IngestGroup(seen: [device("one"): time(300)]))
        #expect(
            try store.database.rows(
                "SELECT first_seen - \(start), last_seen - \(start), last_t - \(start) FROM devices")
                == ["100|300|90"])
    }
}
