import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Stored real numbers", .temporaryFolder)
struct StoredRealTests {
    @Test("a number with up to six decimals and fifteen digits is stored in millionths, others as they are")
    func millionths() {
        #expect(StoredReal.millionths(-0.000001) == -1)
        #expect(StoredReal.millionths(0) == 0)
        let largest: Int64 = (1 << 47) - 1
        #expect(StoredReal.millionths(140_737_488.355327) == largest)
        for value in [140_737_488.355328, 0.0000001, 1.0 / 3, -0.0, .infinity, -.infinity, .nan] {
            #expect(StoredReal.millionths(value) == nil, "\(value)")
        }
        for _ in 0..<10_000 {
            let number = Int64.random(in: -largest...largest)
            #expect(StoredReal.millionths(StoredReal.value(number)) == number)
        }
    }

    @Test("merged rows return each number as it was received, in the views and to readers")
    func values() throws {
        let store = try newStore().store
        let values = [0, -1, 7, 0.1, 1.0 / 3, 2147.483648, 1e300, -.infinity, .nan, 140_737_488.355328]
        var block = SampleBlock(stream: .accelerometer)
        for (index, value) in values.enumerated() {
            block.append(time: time(Int64(index)), values: [value, -value, 5])
        }
        try store.write(received(block))
        try store.mergeLogs()
        #expect(try store.database.integer("SELECT count(*) FROM merged_accelerometer") == values.count)
        // After sorting as well, where whole numbers must not become integers.
        #expect(
            try store.database.rows("SELECT DISTINCT typeof(x), typeof(z) FROM accelerometer ORDER BY x")
                .sorted() == ["null|real", "real|real"])
        let reader = try StoreReader(path: store.path)
        var read: [[Double]] = []
        try reader.query(stream: .accelerometer) { read.append($0.values) }
        #expect(zip(read, values).allSatisfy { $0[0] == $1 || $0[0].isNaN && $1.isNaN } && read.count == values.count)
        // Equal values are duplicates.
        #expect(try store.write(received(block)).devices.values.first == .init(duplicates: values.count))
    }

    @Test("a stream with only words has averages without columns, and pages that hold its rows")
    func words() throws {
        let words = (0..<3).map { String(repeating: "\($0)", count: 60) }
        let columns = try (0..<9).map { try SensorStream.Column(declaring: "c\($0)", kind: .choice(words)) }
        let stream = try SensorStream(declaring: "x/words", columns: columns)
        let path = TemporaryFolder.path + "/words"
        let store = try SQLiteStore(path: path, options: .init(), streams: StreamCatalog.builtIn.streams + [stream])
        #expect(try store.database.integer("PRAGMA page_size") == 4096)
        #expect(try newStore().store.database.integer("PRAGMA page_size") == Int64(StoreSchema.pageSize))
        var block = SampleBlock(stream: stream)
        for index in 0..<5 { block.append(time: time(Int64(index)), values: columns.map { _ in 1 }) }
        try store.write(received(block))
        for _ in 0..<2 {
            var rows: [[Double]] = []
            try StoreReader(path: path).query(stream: stream, detail: .averages(span: 60_000_000)) {
                rows.append($0.values)
            }
            #expect(rows == [[5]])
            try store.mergeLogs()
        }
    }
}
