import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Streams in the logs", .temporaryFolder)
struct LogStreamTests {
    private let path = TemporaryFolder.path + "/store"

    /// A declared stream with the given columns.
    private func stream(_ names: [String]) throws -> SensorStream {
        try SensorStream(
            declaring: "x/air", summary: "Air",
            columns: names.map { try SensorStream.Column(declaring: $0, kind: .real, isRequired: false) })
    }

    private func open(_ stream: SensorStream, usesRuns: Bool = false) throws -> SQLiteStore {
        try SQLiteStore(
            path: path, options: MergeWorkload.options(usesRuns: usesRuns),
            catalog: try StreamCatalog(declared: [stream]))
    }

    /// Writes a batch, and moves it to a run.
    private func move(_ stream: SensorStream, _ batches: ReceivedBatch...) throws {
        let store = try open(stream, usesRuns: true)
        try store.write(IngestGroup(batches: batches))
        try store.startMerge(of: store.activeLog)
        try store.finishMerge()
        #expect(try store.database.integer("SELECT count(*) FROM run_narrow") == batches.count)
    }

    private func batch(_ stream: SensorStream, _ offset: Int64, _ values: [Double]) -> ReceivedBatch {
        var block = SampleBlock(stream: stream)
        block.append(time: time(offset), values: values)
        return received(block)
    }

    private func rows(_ store: SQLiteStore) throws -> [String] {
        try store.database.rows("SELECT * FROM x_air ORDER BY t").map { row in
            row.split(separator: "|").dropFirst(2).joined(separator: "|")
        }
    }

    private let columns = ["a", "b", "c", "d", "e"]

    @Test(
        "a stream that outgrows its shape keeps its rows, and finds duplicates and conflicts of them",
        arguments: [false, true])
    func outgrown(inRun: Bool) throws {
        let (old, new) = (try stream(Array(columns[..<4])), try stream(columns))
        let batches = (batch(old, 1, [1, 2, 3, 4]), batch(old, 2, [5, 6, 7, 8]))
        if inRun { try move(old, batches.0, batches.1) } else { try open(old).write(batches.0, batches.1) }
        let store = try open(new)
        #expect(try rows(store) == ["1.0|2.0|3.0|4.0|-", "5.0|6.0|7.0|8.0|-"])
        let result = try store.write(
            batch(new, 1, [1, 2, 3, 4, .nan]), batch(new, 2, [5, 6, 7, 8, 9]), batch(new, 3, [0, 0, 0, 0, 0]))
        let expected = IngestResult.Counts(stored: 1, duplicates: 1, conflicts: 1)
        #expect(result.devices.values.first == expected)
        let all = ["1.0|2.0|3.0|4.0|-", "5.0|6.0|7.0|8.0|-", "0.0|0.0|0.0|0.0|0.0"]
        #expect(try rows(store) == all)
        try store.mergeLogs()
        #expect(try rows(store) == all)
        #expect(try store.database.rows("SELECT samples FROM devices") == ["3"])
    }

    @Test(
        "columns that fit the shape are added, and older rows are null there", arguments: [false, true], [false, true])
    func added(merges: Bool, inRun: Bool) throws {
        let (old, new) = (try stream(["a", "b"]), try stream(["a", "b", "c"]))
        if inRun { try move(old, batch(old, 1, [1, 2])) } else { try open(old).write(batch(old, 1, [1, 2])) }
        let store = try open(new)
        try store.write(batch(new, 2, [3, 4, 5]))
        if merges { try store.mergeLogs() }
        #expect(try rows(store) == ["1.0|2.0|-", "3.0|4.0|5.0"])
        #expect(try store.write(batch(new, 1, [1, 2, .nan])).devices.values.first == .init(duplicates: 1))
        #expect(
            try store.database.rows("SELECT shape, columns FROM log_streams WHERE name = 'x/air'") == ["narrow|a b c"])
    }

    @Test("the order of the columns in the declaration may change", arguments: [false, true])
    func reordered(merges: Bool) throws {
        let (old, new) = (try stream(["a", "b", "c"]), try stream(["c", "d", "a", "b"]))
        try open(old).write(batch(old, 1, [1, 2, 3]))
        let store = try open(new)
        try store.write(batch(new, 2, [30, 40, 10, 20]))
        #expect(try store.database.integer("SELECT count(*) FROM log1_narrow") == 2)
        #expect(try store.write(batch(new, 1, [3, .nan, 1, 2])).devices.values.first == .init(duplicates: 1))
        if merges { try store.mergeLogs() }
        #expect(
            try store.database.rows("SELECT a, b, c, d FROM x_air ORDER BY t")
                == ["1.0|2.0|3.0|-", "10.0|20.0|30.0|40.0"])
    }

    @Test("rows of a stream with more than 20 columns are written directly")
    func manyColumns() throws {
        let wide = try stream((0...20).map { "c\($0)" })
        let store = try open(wide)
        try store.write(batch(wide, 1, (0...20).map(Double.init)))
        #expect(try store.database.integer("SELECT count(*) FROM merged_x_air") == 1)
        #expect(try store.database.integer("SELECT count(*) FROM log_streams WHERE name = 'x/air'") == 0)
        #expect(try store.database.rows("SELECT c0, c20 FROM x_air") == ["0.0|20.0"])
        #expect(try store.write(batch(wide, 1, (0...20).map(Double.init))).devices.values.first == .init(duplicates: 1))
    }

    @Test("a collector without the declaration merges the rows of a declared stream", arguments: [false, true])
    func undeclared(inRun: Bool) throws {
        let air = try stream(["a"])
        let batches = (batch(air, 1, [7]), received(acceleration([1])))
        if inRun { try move(air, batches.0, batches.1) } else { try open(air).write(batches.0, batches.1) }
        let store = try SQLiteStore(path: path)
        #expect(try rows(store) == ["7.0"])
        #expect(try storeError { try store.write(batch(air, 2, [8])) }.description.contains("no table for the stream"))
        try store.mergeLogs()
        #expect(try rows(store) == ["7.0"])
        #expect(try store.database.rows("SELECT samples FROM devices") == ["2"])
        #expect(try store.database.rows("SELECT _a FROM merged_x_air") == ["7000000"])
    }

    @Test("a store with unmerged rows of an unknown stream is not opened")
    func unknown() throws {
        try SQLiteStore(path: path).database.execute(
            """
            INSERT INTO log_streams VALUES (99, 'novel', 'narrow', 'a');
            INSERT INTO log1_narrow (id, after) VALUES (\(LogKey.first(turn: 1, stream: 99, device: 1)), 5);
            """)
        let error = try storeError { _ = try SQLiteStore(path: path) }
        #expect(error.code == .streams && error.description.contains("a stream that this program does not support"))
        #expect(try SQLiteDatabase(path: path).integer("SELECT count(*) FROM log1_narrow") == 1)
    }

    @Test("a store with rows of an unknown stream in a run is not opened")
    func unknownInRun() throws {
        try SQLiteStore(path: path).database.execute(
            """
            INSERT INTO log_streams VALUES (99, 'novel', 'narrow', 'a');
            INSERT INTO log_runs VALUES (1, 99, 1, 1, 5, 5);
            INSERT INTO run_narrow (id, after) VALUES (\(RunKey.first(run: 1, device: 1, stream: 99)), 5);
            """)
        let error = try storeError { _ = try SQLiteStore(path: path) }
        #expect(error.code == .streams && error.description.contains("a stream that this program does not support"))
        #expect(try SQLiteDatabase(path: path).integer("SELECT count(*) FROM run_narrow") == 1)
    }
}
