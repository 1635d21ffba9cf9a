import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepModel
@testable import LockstepStore

@Suite("Schema", .temporaryFolder)
struct SchemaTests {
    @Test("a store has the specified tables and one table per stream")
    func tables() throws {
        let store = try newStore().store
        let tables = try store.database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        let base = [
            "merged_devices", "merged_states", "merged_batches", "dropped", "conflicts", "rejected", "streams",
            "merged_clocks", "events", "deliveries", "rule_states", "reports", "files",
        ]
        let logs =
            ["logs", "log_turns", "log_streams", "log_epochs"]
            + [1, 2].flatMap { log in ["narrow", "wide", "changes", "clocks", "spans"].map { "log\(log)_\($0)" } }
            + ["log_runs", "run_narrow", "run_wide", "run_clocks"]
        #expect(tables.sorted() == (base + logs + SensorStream.builtIn.map { "merged_\($0.table)" }).sorted())
        let views = try store.database.rows("SELECT name FROM sqlite_schema WHERE type = 'view'")
        #expect(
            Set(views).isSuperset(of: SensorStream.builtIn.map(\.table) + ["devices", "batches", "clocks", "states"]))
    }

    @Test("each stream has a table with its columns and types", arguments: SensorStream.builtIn)
    func streamTable(stream: SensorStream) throws {
        let store = try newStore().store
        let columns = try store.database.rows(
            "SELECT name, type, pk FROM pragma_table_info('\(stream.mergedTable)')")
        let stored = stream.columns.map { column in
            switch column.kind {
            case .real: "_\(column.name)||0"
            case .integer: "\(column.name)|INTEGER|0"
            case .choice: "\(column.name)|TEXT|0"
            }
        }
        #expect(columns == ["device_id|INTEGER|1", "t|INTEGER|2"] + stored)
        let types = stream.columns.map { column in
            switch column.kind {
            // An expression has no declared type; SQLite 3.41 and later have a type for it.
            case .real: "\(column.name)|"
            case .integer: "\(column.name)|INTEGER"
            case .choice: "\(column.name)|TEXT"
            }
        }
        let view = try store.database.rows(
            "SELECT name, iif(type IN ('REAL', 'NUM'), '', type) FROM pragma_table_info('\(stream.table)')")
        #expect(view == ["device_id|INTEGER", "t|INTEGER"] + types)
    }

    @Test("the schema has a comment with the unit and meaning of each column", arguments: SensorStream.builtIn)
    func comments(stream: SensorStream) throws {
        let store = try newStore().store
        for name in [stream.table, stream.mergedTable] {
            let sql = try #require(
                try store.database.text("SELECT sql FROM sqlite_schema WHERE name = '\(name)'"))
            #expect(sql.contains("-- \(stream.name): \(stream.summary)"))
            for column in stream.columns {
                let line = try #require(
                    sql.split(separator: "\n").first { line in
                        // In a view, the name follows the expression.
                        let words = line.split(separator: "-- ").first?.split { " ,".contains($0) }.map(String.init)
                        return !line.contains("-- \(stream.name): ")
                            && [column.name, column.storedName].contains { $0 == words?.first || $0 == words?.last }
                    })
                #expect(line.contains(column.unit) && line.contains("-- ") && line.contains(column.summary))
            }
        }
    }

    @Test("each stream has a readable view", arguments: SensorStream.builtIn)
    func views(stream: SensorStream) throws {
        let store = try newStore().store
        let view = try store.database.prepare("SELECT * FROM v_\(stream.table)")
        #expect(view.columnNames == ["group_name", "device", "time"] + stream.columns.map(\.name) + ["t"])
        #expect(try !view.step())
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
            try store.database.rows("SELECT time, pressure, trend FROM v_air") == [
                "2023-11-14T22:13:20.000001Z|1000.0|-", "2023-11-14T22:13:20.000002Z|1013.25|down",
            ])
        let sql = try #require(try store.database.text("SELECT sql FROM sqlite_schema WHERE name = 'merged_air'"))
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
        try SQLiteStore(path: folder + "/store").database.execute(
            "DROP VIEW v_gaps; DROP VIEW v_steps; CREATE VIEW v_steps AS SELECT 1")
        let store = try SQLiteStore(path: folder + "/store")
        #expect(try store.database.rows("SELECT * FROM v_gaps").isEmpty)
        #expect(try store.database.rows("SELECT device FROM v_steps").isEmpty)
    }
}
