import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Batch numbers", .temporaryFolder)
struct BatchNumberTests {
    private let key = DeviceEpoch(device: device("one"), epoch: epoch("e"))

    @Test("batch numbers are stored as ranges and returned by each write")
    func ranges() throws {
        let store = try newStore().store
        #expect(try write(store, [1, 2, 3]) == [1...3])
        #expect(try write(store, [7, 5]) == [1...3, 5...5, 7...7])
        #expect(try write(store, [6]) == [1...3, 5...7])
        #expect(try rows(store) == ["1|3", "5|7"])
        #expect(try write(store, [4]) == [1...7])
        #expect(try rows(store) == ["1|7"])
    }

    @Test("contiguous batch numbers change one row")
    func fewRowChanges() throws {
        let store = try newStore().store
        _ = try write(store, [1, 3, 5, 7])
        try store.mergeAll()
        try store.database.execute(
            """
            CREATE TABLE record (what);
            CREATE TRIGGER i AFTER INSERT ON _batches BEGIN INSERT INTO record VALUES ('insert ' || new.first); END;
            CREATE TRIGGER d AFTER DELETE ON _batches BEGIN INSERT INTO record VALUES ('delete ' || old.first); END;
            CREATE TRIGGER u AFTER UPDATE ON _batches
                BEGIN INSERT INTO record VALUES ('update ' || new.first || ' to ' || new.last); END;
            """)
        _ = try write(store, [8, 9])
        try store.mergeAll()
        #expect(try store.database.rows("SELECT what FROM record") == ["update 7 to 9"])
        _ = try write(store, [8, 9])
        try store.mergeAll()
        #expect(try store.database.integer("SELECT count(*) FROM record") == 1)
        _ = try write(store, [4])
        try store.mergeAll()
        #expect(try store.database.rows("SELECT what FROM record") == ["update 7 to 9", "delete 5", "update 3 to 5"])
    }

    @Test("batch numbers are loaded after the store is reopened")
    func reopened() throws {
        let folder = TemporaryFolder.path
        _ = try write(SQLiteStore(path: folder + "/store"), [1, 2, 5])
        #expect(try write(SQLiteStore(path: folder + "/store"), [3]) == [1...3, 5...5])
    }

    @Test("an empty report of dropped batches returns the known numbers")
    func reportWithoutRanges() throws {
        let folder = TemporaryFolder.path
        _ = try write(SQLiteStore(path: folder + "/store"), [1, 2])
        let emptyReport = DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [])
        let result = try SQLiteStore(path: folder + "/store").write(IngestGroup(dropped: [emptyReport]))
        #expect(result.received == [key: [1...2]])
    }

    @Test("dropped batches count as received for acknowledgements and have their own table")
    func dropped() throws {
        let store = try newStore().store
        _ = try write(store, [1, 5])
        let group = IngestGroup(dropped: [
            DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [2...4])
        ])
        #expect(try store.write(group).received == [key: [1...5]])
        #expect(try store.write(group).received == [key: [1...5]])
        #expect(try rows(store) == ["1|1", "5|5"])
        #expect(try store.database.rows("SELECT first, last FROM dropped") == ["2|4"])
    }

    @Test("each epoch and device has its own numbers")
    func separateSequences() throws {
        let store = try newStore().store
        let result = try store.write(
            received(acceleration([1]), epoch: "e", seq: 1), received(acceleration([2]), epoch: "f", seq: 2),
            received(acceleration([1]), from: device("two"), epoch: "e", seq: 3))
        #expect(
            result.received == [
                key: [1...1], DeviceEpoch(device: device("one"), epoch: epoch("f")): [2...2],
                DeviceEpoch(device: device("two"), epoch: epoch("e")): [3...3],
            ])
    }

    @Test("batches without a number are stored")
    func unnumbered() throws {
        let store = try newStore().store
        let result = try store.write(received(acceleration([1])))
        #expect(result.received.isEmpty)
        #expect(result.devices[device("one")]?.stored == 1)
    }

    @Test("invalid batch numbers are ignored, but their samples are stored")
    func invalidNumbers() throws {
        let store = try newStore().store
        let batches = [Int64.max, 1 << 53, 0, -3].enumerated().map { received(acceleration([Int64($0)]), seq: $1) }
        let everything = DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [Int64.min...Int64.max])
        #expect(try store.write(IngestGroup(batches: batches)).received == [key: []])
        #expect(try store.write(IngestGroup(dropped: [everything])).received == [key: [1...((1 << 53) - 1)]])
        #expect(try store.database.integer("SELECT count(*) FROM accelerometer") == 4)
    }

    @Test(
        "only rows with different ranges are changed",
        arguments: [
            ([1...3], [1...4], RangeChangesText("updated 1...4")),
            ([1...3, 5...7], [1...7], RangeChangesText("deleted 5 updated 1...7")),
            ([3...3], [1...1, 3...3], RangeChangesText("inserted 1...1")),
            ([3...3], [2...3], RangeChangesText("deleted 3 inserted 2...3")),
            ([1...1, 9...9], [1...1, 9...9], RangeChangesText("")),
        ] as [(SequenceSet, SequenceSet, RangeChangesText)])
    func changes(old: SequenceSet, new: SequenceSet, expected: RangeChangesText) {
        #expect(RangeChangesText(RangeChanges(from: old, to: new)) == expected)
    }

    private func write(_ store: SQLiteStore, _ numbers: [Int64]) throws -> SequenceSet? {
        try store.write(IngestGroup(batches: numbers.map { received(acceleration([$0]), seq: $0) })).received[key]
    }

    private func rows(_ store: SQLiteStore) throws -> [String] {
        try store.mergeAll()
        return try store.database.rows("SELECT first, last FROM batches")
    }
}

/// The description of changes, such as `deleted 5 updated 1...7`, which makes test arguments readable.
struct RangeChangesText: Equatable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    init(_ changes: RangeChanges) {
        let parts =
            changes.deleted.map { "deleted \($0)" } + changes.updated.map { "updated \($0)" }
            + changes.inserted.map { "inserted \($0)" }
        text = parts.joined(separator: " ")
    }
}
