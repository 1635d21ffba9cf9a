import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Samples as JSON", .temporaryFolder)
struct WaitingRowsTests {
    private static let stream = SensorStream(
        name: "mixed", table: "mixed", summary: "Mixed",
        columns: [
            .init(name: "a", kind: .real, unit: "", isRequired: false, summary: ""),
            .init(name: "b", kind: .integer, unit: "", isRequired: false, summary: ""),
            .init(name: "c", kind: .choice(["up", #"a "b" \c"#]), unit: "", isRequired: false, summary: ""),
        ])

    private func codec() throws -> (rows: WaitingRows, database: SQLiteDatabase) {
        let database = try SQLiteDatabase(path: TemporaryFolder.path + "/\(UInt64.random(in: .min ... .max))")
        try database.execute(Self.stream.createRowTable)
        return (WaitingRows(Self.stream, try #require(try RowColumns(of: Self.stream, in: database))), database)
    }

    private func json(_ rows: [[Double]]) throws -> String {
        let columns = (0..<3).map { column in rows.map { $0[column] } }
        let block = SampleBlock(
            stream: Self.stream, times: rows.indices.map { start + Int64($0) * 10 }, columns: columns)
        var json: [UInt8] = []
        try codec().rows.encode(rows.indices, of: block, after: start, to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    private func decoded(_ json: String) throws -> [String] {
        var rows: [String] = []
        var text = json
        let codec = try codec().rows
        text.withUTF8 { codec.decode($0, after: start) { rows.append("\($0 - start) \($1)") } }
        return rows
    }

    @Test("samples are rows of times and values that a person can read")
    func text() throws {
        let text = try json([[0.5, 7, 0], [-1, -3, 1], [.nan, .nan, .nan], [1e-7, 4_503_599_627_370_496, 5]])
        #expect(
            text
                == #"[[0,0.5,7,"up"],[10,-1.0,-3,"a \"b\" \\c"],[20,null,null,null],[30,1e-07,4503599627370496,null]]"#)
        #expect(try json([]) == "[]" && decoded("[]").isEmpty)
    }

    @Test(
        "a real number is read as it was written, by the decoder and if it has up to 15 digits by SQLite",
        arguments: [
            0, -0.0, 0.1, -0.000001, 0.123456, 140_737_488.355327, 1e-7, 1.0 / 3, .leastNonzeroMagnitude,
            .greatestFiniteMagnitude, -1e20,
            Double(Float(0.1)), 123_456_789_012_345_680, .infinity, -.infinity,
        ])
    func exact(value: Double) throws {
        let text = try json([[value, 0, 0]])
        #expect(try decoded(text) == ["0 \([value, 0, 0])"])
        let (_, database) = try codec()
        let select = try database.prepare("SELECT CAST(value ->> 1 AS REAL) FROM json_each('\(text)')")
        #expect(try select.step())
        #expect(abs(select.double(at: 0) - value) <= value.ulp || select.double(at: 0) == value)
    }

    @Test("random numbers are read as they were written")
    func random() throws {
        var random = SplitMix64(seed: 1)
        var rows: [[Double]] = []
        for index in 0..<2000 {
            let bits = Double(bitPattern: random.next())
            let value = index % 2 == 0 ? (Double.random(in: -50...50, using: &random) * 1e4).rounded() / 1e4 : bits
            rows.append([value.isNaN ? 0 : value, Double(Int64.random(in: -1 << 52...1 << 52, using: &random)), 1])
        }
        #expect(try decoded(json(rows)) == rows.enumerated().map { "\($0 * 10) \($1)" })
    }

    @Test(
        "text that is something else ends the samples, and missing values are unknown",
        arguments: [
            ("", 0), ("[", 0), ("{}", 0), ("[[", 0), ("[[1", 1), ("[[1,2.0", 1), (#"[[1,2.0,3,"up"#, 1),
            ("[[1,2.0],[x]]", 1),
            ("[[1,2.0],[2]]", 2), ("[[1,2.0,3,null,4,5]]", 1), ("[[1,nul", 1), (#"[[1,2,3,"\"#, 1),
        ])
    func damaged(text: String, count: Int) throws { #expect(try decoded(text).count == count) }
}
