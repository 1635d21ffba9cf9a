import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Query of averages", .temporaryFolder)
struct AverageTests {
    @Test("each span with samples gives one row with the means and the number of samples")
    func means() throws {
        let rows = try averages(of: [0, 4, 9, 10, 35], span: 10)
        #expect(rows == [Row(0, [13 / 3, 0.5, -1, 3]), Row(10, [10, 0.5, -1, 1]), Row(30, [35, 0.5, -1, 1])])
    }

    @Test("spans are aligned to 1970")
    func alignment() throws {
        #expect(start % 7 == 6)
        #expect(try averages(of: [0, 1, 4], span: 7) == [Row(-6, [0, 0.5, -1, 1]), Row(1, [2.5, 0.5, -1, 2])])
    }

    @Test("spans before 1970 are aligned in the same way")
    func before1970() throws {
        #expect(try averages(of: [-start - 1, -start], span: 10).map(\.offset) == [-start - 10, -start])
    }

    @Test("only samples in the time range are averaged, and the limit applies to rows")
    func rangeAndLimit() throws {
        let offsets: [Int64] = [0, 4, 9, 10, 15, 35]
        #expect(
            try averages(of: offsets, span: 10, from: 4, to: 15)
                == [Row(0, [6.5, 0.5, -1, 2]), Row(10, [10, 0.5, -1, 1])])
        #expect(try averages(of: offsets, span: 10, limit: 1).map(\.offset) == [0])
    }

    @Test("each device has its own spans")
    func devices() throws {
        let reader = try readerOfThreeDevices()
        #expect(
            try reader.rows(.averages(span: 2)) == ["field/a 4", "lab/a 0", "lab/a 2", "lab/b 4", "lab/b 6"])
    }

    @Test("steps and distances are summed, nulls are ignored, and columns without aggregate are omitted")
    func aggregates() throws {
        let (store, path) = try newStore()
        var steps = SampleBlock(stream: .steps)
        steps.append(time: time(2), values: [Double(start), 3, .nan, 1, .nan, 1.5])
        steps.append(time: time(4), values: [Double(start + 2), 4, 2.5, .nan, .nan, 2.5])
        steps.append(time: time(6), values: [Double(start + 4), 5, 1.25, .nan, .nan, .nan])
        try store.write(received(steps))
        var values: [Double] = []
        try StoreReader(path: path).query(stream: .steps, detail: .averages(span: 10)) { values = $0.values }
        #expect(values.map(\.description) == ["12.0", "3.75", "1.0", "nan", "2.0", "3.0"])
        let names = QueryDetail.averages(span: 10).columns(of: .steps).map(\.name)
        #expect(names == ["steps", "distance", "pace", "avg_pace", "cadence", "samples"])
    }

    @Test(
        "the mean of longitudes is correct across the 180th meridian",
        arguments: [
            ([10, 20], 15), ([-10, 20], 5), ([179, -179], 180), ([179, -178], -179.5), ([178, -179], 179.5),
            ([-170, 100], 145),
        ] as [([Double], Double)])
    func longitude(_ example: ([Double], Double)) throws {
        let (store, path) = try newStore()
        var fixes = SampleBlock(stream: .location)
        for (index, longitude) in example.0.enumerated() {
            let values = SensorStream.location.columns.map { $0.name == "lon" ? longitude : $0.name == "fix" ? 3 : 0 }
            fixes.append(time: time(Int64(index)), values: values)
        }
        try store.write(received(fixes))
        var mean = Double.nan
        try StoreReader(path: path).query(stream: .location, detail: .averages(span: 1000)) { mean = $0.values[1] }
        #expect(mean == example.1)
    }

    @Test("words, whole numbers, attitudes and courses have no aggregate columns")
    func columns() {
        let detail = QueryDetail.averages(span: 10)
        #expect(detail.columns(of: .orientation).map(\.name) == ["samples"])
        #expect(
            detail.columns(of: .location).map(\.name) == ["lat", "lon", "alt", "hacc", "vacc", "speed", "samples"])
        #expect(detail.columns(of: .deviceMotion).map(\.name).starts(with: ["gx", "gy", "gz", "ux"]))
        #expect(detail.columns(of: .deviceMotion).map(\.name).suffix(2) == ["mz", "samples"])
    }

    private struct Row: Hashable {
        /// The start of the span, in µs after ``start``.
        let offset: Int64
        let values: [Double]

        init(_ offset: Int64, _ values: [Double]) {
            self.offset = offset
            self.values = values
        }
    }

    private func averages(
        of offsets: [Int64], span: Int64, from: Int64? = nil, to: Int64? = nil, limit: Int? = nil
    ) throws -> [Row] {
        let (store, path) = try newStore()
        try store.write(received(acceleration(offsets)))
        var rows: [Row] = []
        try StoreReader(path: path).query(
            stream: .accelerometer, detail: .averages(span: span), from: from.map(time), to: to.map(time),
            limit: limit
        ) { rows.append(Row($0.time.microseconds - start, $0.values)) }
        return rows
    }
}
