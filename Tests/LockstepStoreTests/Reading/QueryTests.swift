import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepModel
@testable import LockstepStore

@Suite("Query", .temporaryFolder)
struct QueryTests {
    @Test("rows are ordered by group, device and time")
    func order() throws {
        let reader = try readerOfThreeDevices()
        #expect(
            try reader.rows() == ["field/a 5", "lab/a 1", "lab/a 2", "lab/a 3", "lab/b 4", "lab/b 6"])
    }

    @Test("group, devices, time range and limit apply")
    func bounds() throws {
        let reader = try readerOfThreeDevices()
        #expect(try reader.rows(group: "field") == ["field/a 5"])
        #expect(try reader.rows(group: "lab", devices: ["a"], from: 2) == ["lab/a 2", "lab/a 3"])
        #expect(try reader.rows(devices: ["a", "c"], to: 3) == ["lab/a 1", "lab/a 2"])
        #expect(try reader.rows(limit: 3) == ["field/a 5", "lab/a 1", "lab/a 2"])
        #expect(try reader.rows(limit: 0) == [])
    }

    @Test("values are in column order, and NaN stands for null")
    func values() throws {
        let (store, path) = try newStore()
        var steps = SampleBlock(stream: .steps)
        steps.append(time: time(2), values: [Double(start), 3, .nan, 1, 2, 1.5])
        try store.write(received(steps))
        var values: [Double] = []
        try StoreReader(path: path).query(stream: .steps) { values = $0.values }
        #expect(values.map(\.description) == [Double(start), 3, .nan, 1, 2, 1.5].map(\.description))
    }

    @Test("an error of the consumer ends the query")
    func consumerThrows() throws {
        let reader = try readerOfThreeDevices()
        var count = 0
        #expect(throws: TestError.self) {
            try reader.query(stream: .accelerometer) { _ in
                count += 1
                throw TestError()
            }
        }
        #expect(count == 1)
    }

    @Test("a stream without a table has no rows, and a missing column is null")
    func unknownStream() throws {
        let air = SensorStream(name: "air", table: "air", summary: "", columns: [], pausesInBackground: false)
        let wider = SensorStream(
            name: "steps", table: "steps", summary: "",
            columns: [
                .init(name: "steps", kind: .integer, unit: "", isRequired: true, summary: ""),
                .init(name: "extra", kind: .real, unit: "", isRequired: false, summary: ""),
            ], pausesInBackground: false)
        let (store, path) = try newStore()
        try store.write(
            received(SampleBlock(stream: .steps, times: [start], columns: [[0], [8], [0], [0], [0], [0]])))
        let reader = try StoreReader(path: path)
        var values: [Double] = []
        try reader.query(stream: air) { _ in Issue.record("a query without a table returned a row") }
        try reader.query(stream: wider) { values = $0.values }
        #expect(values.count == 2 && values[0] == 8 && values[1].isNaN)
        #expect(
            try reader.compare(SampleBlock(stream: air, times: [1], columns: []), of: device("one")).missing == [1])
    }
}
