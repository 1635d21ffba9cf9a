import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepModel
@testable import LockstepStore

@Suite("Schema", .temporaryFolder)
struct SchemaTests {
    /// Writes a sample of a stream.
    private func write(_ streams: [SensorStream], to store: SQLiteStore) throws {
        for stream in streams {
            var block = SampleBlock(stream: stream)
            block.append(time: time(1), values: stream.columns.map { _ in 0 })
            try store.write(received(block))
        }
    }

    @Test("a store has at most 30 names, with the tables and views of five streams")
    func names() throws {
        let store = try newStore().store
        func names() throws -> [String] {
            try store.database.rows(
                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%' ORDER BY 1")
        }
        let base = [
            "_batches", "_clocks", "_devices", "_files", "_merge", "_reports", "_rule_states", "_waiting", "batches",
            "clocks", "conflicts", "deliveries", "devices", "dropped", "events", "rejected", "states", "streams",
            "v_devices", "v_gaps",
        ]
        #expect(try names() == base)
        let streams: [SensorStream] = [.accelerometer, .gyroscope, .steps, .location, .battery]
        try write(streams, to: store)
        #expect(try names() == (base + streams.flatMap { [$0.table, $0.rowTable] }).sorted())
        #expect(try names().count <= 30)
        #expect(
            try store.database.rows("SELECT table_name FROM streams ORDER BY stream_id") == streams.map(\.table))
    }

    @Test("each stream has a table and a view with its columns and types", arguments: SensorStream.builtIn)
    func streamTable(stream: SensorStream) throws {
        let store = try newStore().store
        try write([stream], to: store)
        let types = stream.columns.map { "\($0.name)|\($0.kind.sqlType)" }
        let columns = try store.database.rows("SELECT name, type, pk FROM pragma_table_info('\(stream.rowTable)')")
        #expect(columns == ["device_id|INTEGER|1", "t|INTEGER|2"] + types.map { "\($0)|0" })
        let view = try store.database.rows("SELECT name, type FROM pragma_table_info('\(stream.table)')")
        #expect(view == ["device_id|INTEGER", "t|INTEGER"] + types)
    }

    @Test(
        "the schema has a comment with the unit and meaning of each column, and fits a screen",
        arguments: SensorStream.builtIn)
    func comments(stream: SensorStream) throws {
        let store = try newStore().store
        try write([stream], to: store)
        for isWaiting in [true, false] {
            for name in [stream.table, stream.rowTable] {
                let sql = try #require(
                    try store.database.text("SELECT sql FROM sqlite_schema WHERE name = '\(name)'"))
                let lines = sql.split(separator: "\n")
                #expect(
                    sql.contains("-- \(stream.name): \(stream.summary)") && lines.count <= 12 + stream.columns.count)
                for column in stream.columns {
                    let line = try #require(
                        lines.first { line in
                            !line.contains("-- \(stream.name): ")
                                && line.split { " ,".contains($0) }.first.map(String.init) == column.name
                        })
                    #expect(line.contains(column.unit) && line.contains("-- ") && line.contains(column.summary))
                }
                if name == stream.table { #expect(sql.contains("_waiting") == isWaiting) }
            }
            try store.mergeAll()
        }
    }

    @Test("a new stream gets a table, and a new column is added with a comment")
    func newStream() throws {
        let old = SensorStream(
            name: "air", table: "air", summary: "Air",
            columns: [
                .init(name: "pressure", kind: .real, unit: "hPa", isRequired: true, summary: "Pressure")
            ], pausesInBackground: false)
        let new = SensorStream(
            name: "air", table: "air", summary: "Air",
            columns: old.columns + [
                .init(name: "trend", kind: .choice(["up", "down"]), unit: "", isRequired: false, summary: "Trend")
            ], pausesInBackground: false)
        var block = SampleBlock(stream: new)
        block.append(time: time(2), values: [1013.25, 1])
        let folder = TemporaryFolder.path
        let path = folder + "/store"
        _ = try SQLiteStore(path: path)
        try SQLiteStore(path: path, options: .init(), streams: [.steps, old])
            .write(received(SampleBlock(stream: old, times: [start + 1], columns: [[1000]])))
        let store = try SQLiteStore(path: path, options: .init(), streams: [.steps, new])
        try store.write(received(block))
        #expect(
            try store.database.rows("SELECT t - \(start), pressure, trend FROM air ORDER BY t")
                == ["1|1000.0|-", "2|1013.25|down"])
        let sql = try #require(try store.database.text("SELECT sql FROM sqlite_schema WHERE name = '_air'"))
        #expect(sql.contains("-- hPa: Pressure") && sql.contains("/* Trend (up, down) */"))
    }

    @Test("opening an up-to-date store does not change the schema")
    func unchanged() throws {
        let folder = TemporaryFolder.path
        let before = try SQLiteStore(path: folder + "/store").database.integer("PRAGMA schema_version")
        #expect(try SQLiteStore(path: folder + "/store").database.integer("PRAGMA schema_version") == before)
    }

    @Test("dropped or changed views are restored")
    func restoredViews() throws {
        let folder = TemporaryFolder.path
        let path = folder + "/store"
        let first = try SQLiteStore(path: path)
        try write([.steps], to: first)
        try first.database.execute("DROP VIEW v_gaps; DROP VIEW steps; CREATE VIEW steps AS SELECT 1 AS device_id")
        withExtendedLifetime(consume first) {}
        let store = try SQLiteStore(path: path)
        #expect(try store.database.rows("SELECT * FROM v_gaps").isEmpty)
        #expect(try store.database.rows("SELECT t - \(start) FROM steps") == ["1"])
    }
}
