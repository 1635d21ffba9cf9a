import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Waiting samples of declared streams", .temporaryFolder)
struct WaitingStreamTests {
    private let path = TemporaryFolder.path + "/store"

    private func stream(_ names: [String]) throws -> SensorStream {
        try SensorStream(
            declaring: "x/air", summary: "Air",
            columns: names.map { try SensorStream.Column(declaring: $0, kind: .real, isRequired: false) })
    }

    private func open(_ stream: SensorStream) throws -> SQLiteStore {
        try SQLiteStore(path: path, options: MergeWorkload.options, catalog: try StreamCatalog(declared: [stream]))
    }

    private func batch(_ stream: SensorStream, _ offset: Int64, _ values: [Double]) -> ReceivedBatch {
        var block = SampleBlock(stream: stream)
        block.append(time: time(offset), values: values)
        return received(block)
    }

    private func rows(_ store: SQLiteStore) throws -> [String] {
        let view = try store.database.rows("SELECT * FROM x_air ORDER BY t").map { row in
            row.split(separator: "|").dropFirst(2).joined(separator: "|")
        }
        var read: [String] = []
        let reader = try StoreReader(path: path)
        try reader.query(stream: #require(try reader.catalog().stream(named: "x/air"))) { row in
            read.append(row.values.map { $0.isNaN ? "-" : "\($0)" }.joined(separator: "|"))
        }
        #expect(view == read)
        return view
    }

    @Test("columns are added, and older samples are null there", arguments: [false, true])
    func added(merges: Bool) throws {
        let (old, new) = (try stream(["a", "b"]), try stream(["a", "b", "c"]))
        try open(old).write(batch(old, 1, [1, 2]))
        let store = try open(new)
        #expect(try rows(store) == ["1.0|2.0|-"])
        try store.write(batch(new, 2, [3, 4, 5]))
        if merges { try store.mergeAll() }
        #expect(try rows(store) == ["1.0|2.0|-", "3.0|4.0|5.0"])
        #expect(try store.write(batch(new, 1, [1, 2, .nan])).devices.values.first == .init(duplicates: 1))
        #expect(try store.write(batch(new, 2, [3, 4, 6])).devices.values.first == .init(conflicts: 1))
    }

    @Test("the order of the columns in the declaration may change", arguments: [false, true])
    func order(merges: Bool) throws {
        let (old, new) = (try stream(["a", "b", "c"]), try stream(["c", "d", "a", "b"]))
        try open(old).write(batch(old, 1, [1, 2, 3]))
        let store = try open(new)
        try store.write(batch(new, 2, [30, 40, 10, 20]))
        #expect(try store.database.integer("SELECT count(*) FROM _waiting") == 2)
        #expect(try store.write(batch(new, 1, [3, .nan, 1, 2])).devices.values.first == .init(duplicates: 1))
        if merges { try store.mergeAll() }
        #expect(
            try store.database.rows("SELECT a, b, c, d FROM x_air ORDER BY t")
                == ["1.0|2.0|3.0|-", "10.0|20.0|30.0|40.0"])
        #expect(try rows(store) == ["3.0|-|1.0|2.0", "30.0|40.0|10.0|20.0"])
    }

    @Test("a collector without the declaration merges the samples of a declared stream")
    func undeclared() throws {
        let air = try stream(["a"])
        try open(air).write(batch(air, 1, [7]), received(acceleration([1])))
        let store = try SQLiteStore(path: path)
        #expect(try rows(store) == ["7.0"])
        #expect(try storeError { try store.write(batch(air, 2, [8])) }.description.contains("no table for the stream"))
        try store.mergeAll()
        #expect(try rows(store) == ["7.0"])
        #expect(try store.database.rows("SELECT samples FROM devices") == ["2"])
        #expect(try store.database.rows("SELECT a FROM _x_air") == ["7.0"])
    }

    @Test("a store with waiting samples of an unknown stream is not opened")
    func unknown() throws {
        try SQLiteStore(path: path).database.execute(
            """
            INSERT INTO streams VALUES (99, 'novel', 'novel', NULL);
            INSERT INTO _waiting VALUES (1, 1, 99, NULL, NULL, 5, 5, 5, 1, '[[0,1.0]]');
            """)
        let error = try storeError { _ = try SQLiteStore(path: path) }
        #expect(error.code == .streams && error.description.contains("a stream that this program does not support"))
        #expect(try SQLiteDatabase(path: path).integer("SELECT count(*) FROM _waiting") == 1)
    }

    @Test("a table that was created by a transaction that is rolled back is created again")
    func rolledBack() throws {
        let air = try stream(["a"])
        let store = try open(air)
        for _ in 0..<2 {
            try store.add(IngestGroup(batches: [batch(air, 1, [7])]))
            store.rollBack()
            #expect(try store.database.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%x_air'") == 0)
        }
        try store.write(batch(air, 1, [7]))
        #expect(try rows(store) == ["7.0"])
    }
}
