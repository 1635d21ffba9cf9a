import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Declared streams in a store", .temporaryFolder)
struct DeclaredStreamTests {
    private let path = TemporaryFolder.path + "/store"

    private func co2(
        unit: String = "ppm", more: [SensorStream.Column] = [], name: String = "x/co2"
    ) throws -> SensorStream {
        try SensorStream(
            declaring: name, summary: "CO2 in the room",
            columns: [
                SensorStream.Column(declaring: "ppm", kind: .real, unit: unit),
                SensorStream.Column(declaring: "state", kind: .choice(["ok", "warming"]), isRequired: false),
                SensorStream.Column(declaring: "puffs", kind: .integer, isRequired: false, aggregate: .sum),
            ] + more)
    }

    private func open(_ streams: SensorStream...) throws -> SQLiteStore {
        try SQLiteStore(path: path, catalog: try StreamCatalog(declared: streams))
    }

    private func write(_ stream: SensorStream) throws {
        try open(stream).write(
            received(
                SampleBlock(stream: stream, times: [start + 1, start + 2], columns: [[400, 410], [0, 1], [2, 3]])))
    }

    @Test("samples are read back without the declaration, as samples and as aggregates")
    func reading() throws {
        try write(co2())
        let reader = try StoreReader(path: path)
        let stream = try #require(try reader.catalog().stream(named: "x/co2"))
        #expect(try stream.columns == co2().columns && stream.summary == "CO2 in the room")
        var values: [[Double]] = []
        try reader.query(stream: stream) { values.append($0.values) }
        #expect(values == [[400, 0, 2], [410, 1, 3]])
        var means: [Double] = []
        let detail = QueryDetail.averages(span: 1_000_000)
        #expect(detail.columns(of: stream).map(\.name) == ["ppm", "puffs", "samples"])
        try reader.query(stream: stream, detail: detail) { means = $0.values }
        #expect(means == [405, 5, 2])
        let counts = try #require(try reader.verification().first).samples
        #expect(counts.map(\.stream.name) == ["x/co2"] && counts.map(\.count) == [2])
    }

    @Test("a conflict is valid JSON even if a word has quotation marks")
    func quotedWord() throws {
        let words = ["plain", #"a "b" \c"#]
        let stream = try SensorStream(
            declaring: "x/door", columns: [SensorStream.Column(declaring: "state", kind: .choice(words))])
        let store = try open(stream)
        for index in 0..<2 {
            try store.write(received(SampleBlock(stream: stream, times: [start], columns: [[Double(index)]])))
        }
        #expect(try store.database.text("SELECT json_extract(received, '$.state') FROM conflicts") == words[1])
    }

    @Test("a stream has a table and a view from its first sample on")
    func tables() throws {
        let store = try open(co2())
        #expect(try store.database.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%x_co2'") == 0)
        try store.write(received(SampleBlock(stream: co2(), times: [start], columns: [[1], [0], [0]])))
        let sql = try #require(try store.database.text("SELECT sql FROM sqlite_schema WHERE name = '_x_co2'"))
        #expect(
            sql.contains("-- x/co2: CO2 in the room.")
                && sql.contains("ppm REAL, -- ppm\n"))
        #expect(sql.contains("state TEXT, -- (ok, warming)\n"))
        #expect(
            try store.database.rows("SELECT name FROM pragma_table_info('x_co2')")
                == ["device_id", "t", "ppm", "state", "puffs"])
    }

    @Test("without the declaration, a store keeps the stream but does not accept samples of it")
    func withoutDeclaration() throws {
        let stream = try co2()
        try write(stream)
        let store = try SQLiteStore(path: path)
        let error = try storeError {
            try store.write(received(SampleBlock(stream: stream, times: [start + 9], columns: [[1], [0], [0]])))
        }
        #expect(
            error.description == "the store \(path) has no table for the stream x/co2: open the store with this stream")
        try store.write(received(acceleration([1])))
        let reader = try StoreReader(path: path)
        var count = 0
        try reader.query(stream: try #require(try reader.catalog().stream(named: "x_co2"))) { _ in count += 1 }
        #expect(count == 2)
    }

    @Test("summaries may change, and columns may be added")
    func compatibleChange() throws {
        try write(co2())
        let more = try SensorStream.Column(declaring: "rh", kind: .real, unit: "%", isRequired: false)
        let wider = try co2(more: [more])
        try open(wider).write(
            received(SampleBlock(stream: wider, times: [start + 3], columns: [[420], [0], [0], [55]])))
        let reader = try StoreReader(path: path)
        var values: [Double] = []
        let stream = try #require(try reader.catalog().stream(named: "x/co2"))
        #expect(stream.columns.map(\.name) == ["ppm", "state", "puffs", "rh"])
        try reader.query(stream: stream, from: time(3)) { values = $0.values }
        #expect(values == [420, 0, 0, 55])
    }

    @Test("a declaration that would change the meaning of stored samples is rejected, and the store does not change")
    func conflicts() throws {
        try write(co2())
        let before = try SQLiteDatabase(path: path).rows("SELECT * FROM streams")
        let columns = try co2().columns
        let kind = try SensorStream.Column(declaring: "ppm", kind: .integer, unit: "ppm")
        let words = try SensorStream.Column(declaring: "state", kind: .choice(["ok", "off"]), isRequired: false)
        let cases: [(SensorStream, String)] = [
            (try co2(unit: "%"), "the column 'ppm' has the unit 'ppm' in the store, but '%' in the declaration"),
            (
                try SensorStream(declaring: "x/co2", columns: [kind] + columns[1...]),
                "the column 'ppm' has the kind real in the store, but integer in the declaration"
            ),
            (
                try SensorStream(declaring: "x/co2", columns: [columns[0], words, columns[2]]),
                "the column 'state' has the kind choice (ok, warming) in the store, but choice (ok, off) in the "
                    + "declaration"
            ),
            (
                try SensorStream(declaring: "x/co2", columns: Array(columns.dropLast())),
                "the store has a column 'puffs', which the declaration does not have"
            ),
        ]
        for (stream, reason) in cases {
            let error = try storeError { _ = try open(stream) }
            #expect(error.code == .streams && error.stream == "x/co2")
            #expect(
                error.description == "the declaration of 'x/co2' does not match the store \(path): \(reason). "
                    + "Restore the declaration, or use another stream name")
        }
        #expect(try SQLiteDatabase(path: path).rows("SELECT * FROM streams") == before)
    }

    @Test("a table of another stream or program is not used")
    func foreignTables() throws {
        try SQLiteStore(path: path).database.execute("CREATE TABLE x_co2 (note TEXT)")
        let foreign = try storeError { _ = try open(co2()) }
        #expect(foreign.description.contains("it already has a table x_co2, which Lockstep did not create"))
        _ = try open(co2(name: "x/a/b"))
        let other = try storeError { _ = try open(co2(name: "x/a_b")) }
        #expect(other.description.contains("its table x_a_b belongs to the stream 'x/a/b'"))
    }

    @Test("every accepted column name works in tables, views and queries", arguments: sqlKeywords)
    func keywords(_ name: String) throws {
        guard let column = try? SensorStream.Column(declaring: name, kind: .real, aggregate: .mean) else { return }
        let stream = try SensorStream(declaring: "x/words", columns: [column])
        try open(stream).write(received(SampleBlock(stream: stream, times: [start], columns: [[7]])))
        let reader = try StoreReader(path: path)
        var values: [Double] = []
        for detail in [QueryDetail.samples, .averages(span: 1_000_000)] {
            try reader.query(stream: stream, detail: detail) { values.append($0.values[0]) }
        }
        #expect(values == [7, 7])
        #expect(try SQLiteDatabase(path: path).rows("SELECT \(name) FROM x_words") == ["7.0"])
    }
}

/// All keywords of SQLite (https://sqlite.org/lang_keywords.html).
private let sqlKeywords = """
    abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case \
    cast check collate column commit conflict constraint create cross current current_date current_time \
    current_timestamp database default deferrable deferred delete desc detach distinct do drop each else end escape \
    except exclude exclusive exists explain fail filter first following for foreign from full generated glob group groups \
    having if ignore immediate in index indexed initially inner insert instead intersect into is isnull join key last left \
    like limit match materialized natural no not nothing notnull null nulls of offset on or order others outer over \
    partition plan pragma preceding primary query raise range recursive references regexp reindex release rename replace \
    restrict returning right rollback row rows savepoint select set table temp temporary then ties to transaction trigger \
    unbounded union unique update using vacuum values view virtual when where window with without rowid true false
    """.split(separator: " ").map(String.init)
