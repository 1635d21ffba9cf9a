import LockstepModel
import LockstepSQLite
import Testing

@testable import LockstepStore

@Suite("Samples as JSON")
struct WaitingRowsTests {
    private static let stream = SensorStream(
        name: "mixed", table: "mixed", summary: "Mixed",
        columns: [
            .init(name: "a", kind: .real, unit: "", isRequired: false, summary: ""),
            .init(name: "b", kind: .integer, unit: "", isRequired: false, summary: ""),
            .init(name: "c", kind: .choice(["up", #"a "b" \c"#]), unit: "", isRequired: false, summary: ""),
        ])

    private func codec() throws -> (rows: WaitingRows, database: SQLiteDatabase) {
        let database = try SQLiteDatabase(path: ":memory:")
        try database.execute(Self.stream.createRowTable)
        return (WaitingRows(Self.stream, try #require(try RowColumns(of: Self.stream, in: database))), database)
    }

    /// Encodes rows whose times are 10 µs apart, or as given.
    private func json(_ rows: [[Double]], times: [Int64]? = nil) throws -> (text: String, scale: Double) {
        let columns = (0..<3).map { column in rows.map { $0[column] } }
        let times = times ?? rows.indices.map { Int64($0) * 10 }
        let block = SampleBlock(stream: Self.stream, times: times.map { start + $0 }, columns: columns)
        var json: [UInt8] = []
        let codec = try codec().rows
        let scale = codec.scale(rows.indices, of: block)
        let range = start + (times.min() ?? 0)...start + (times.max() ?? 0)
        codec.encode(rows.indices, of: block, in: range, scale: scale, to: &json)
        return (String(decoding: json, as: UTF8.self), scale)
    }

    private func decoded(_ json: String, step: Int64 = 10, scale: Double = 1) throws -> [String] {
        var rows: [String] = []
        var text = json
        let codec = try codec().rows
        text.withUTF8 {
            codec.decode($0, after: start, step: step, scale: scale) { rows.append("\($0 - start) \($1)") }
        }
        return rows
    }

    @Test("samples are rows of times and values that a person can read")
    func text() throws {
        let decimals = try json([[0.5, 7, 0], [-1, -3, 1], [.nan, .nan, .nan], [0.25, 4_503_599_627_370_496, 5]])
        #expect(
            decimals.text
                == #"[[0,50,7,"up"],[0,-100,-3,"a \"b\" \\c"],[0,null,null,null],[0,25,4503599627370496,null]]"#)
        #expect(decimals.scale == 100)
        let others = try json([[1e-7, 1, 0], [-2, 1, 0]])
        #expect(others.text == #"[[0,1e-07,1,"up"],[0,-2,1,"up"]]"# && others.scale == 1)
        #expect(try json([]).text == "[]" && decoded("[]").isEmpty)
    }

    @Test("a time is the difference from that of a regular sample", arguments: [[0, 11, 19, 31], [20, 0, 40], [7]])
    func times(times: [Int64]) throws {
        let json = try json(times.map { [Double($0), 0, 0] }, times: times)
        let (first, last) = (times.min() ?? 0, times.max() ?? 0)
        let step = (last - first) / Int64(max(times.count - 1, 1))
        #expect(
            try decoded(json.text, step: step, scale: json.scale)
                == times.map { "\($0 - first) \([Double($0), 0, 0])" })
    }

    @Test(
        "a real number is read as it was written, by the decoder and if it has up to 15 digits by SQLite",
        arguments: [
            0, -0.0, 0.1, -0.000001, 0.123456, 140_737_488.355327, 1e-7, 1.0 / 3, .leastNonzeroMagnitude,
            .greatestFiniteMagnitude, -1e20,
            Double(Float(0.1)), 123_456_789_012_345_680, .infinity, -.infinity,
        ])
    func exact(value: Double) throws {
        let (text, scale) = try json([[value, 0, 0]])
        #expect(try decoded(text, scale: scale) == ["0 \([value + 0, 0, 0])"])
        let (_, database) = try codec()
        let select = try database.prepare("SELECT (value ->> 1) / \(scale) FROM json_each('\(text)')")
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
        #expect(try decoded(json(rows).text) == rows.enumerated().map { "\($0 * 10) \($1)" })
        // Alone, each has the scale that it needs.
        for row in rows {
            let (text, scale) = try json([row])
            #expect(try decoded(text, scale: scale) == ["0 \(row)"])
        }
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
