import LockstepModel
import LockstepSQLite
import Testing

@testable import LockstepStore

@Suite("Real numbers in the table of a stream")
struct StoredNumberTests {
    private static let numbers: [Double] = [
        0, -0.0, 1, -1, 0.1, 0.000001, -8.388607, 45.123456, 140_737_488.355327, 140_737_488.355328, 1e-7, 1.0 / 3,
        .leastNonzeroMagnitude, .greatestFiniteMagnitude, -1e20, 9_007_199_254_740_992, 51.9607714, .infinity, .nan,
    ]

    /// Writes samples and merges them.
    private func store(_ columns: [[Double]]) throws -> SQLiteStore {
        let store = try newStore().store
        let times = columns[0].indices.map { start + Int64($0) }
        try store.write(received(SampleBlock(stream: .accelerometer, times: times, columns: columns)))
        try store.mergeAll()
        return store
    }

    @Test("a whole number of millionths is stored as such, and any other number as it is")
    func columns() throws {
        let store = try store([[0.5, 1e-7], [-0.0, .nan], [1.0 / 3, -1]])
        #expect(
            try store.database.rows("SELECT _x, __x, _y, __y, _z, __z FROM _accelerometer ORDER BY t")
                == ["500000|-|0|-|-|0.333333333333333", "-|1.0e-07|-|-|-1000000|-"])
    }

    @Test("SQL and readers find exactly the numbers that were written", arguments: [1, 7, 200])
    func exact(repetitions: Int) throws {
        // Numbers that need another column are among others, and alone in a batch.
        for numbers in [Self.numbers] + Self.numbers.map({ [$0] }) {
            let values = Array(repeatElement(numbers, count: repetitions).joined())
            let store = try store([values, values.reversed(), values.map { _ in 0.25 }])
            let select = try store.database.prepare("SELECT x, y, z FROM accelerometer ORDER BY t")
            var found: [[Double]] = []
            while try select.step() { found.append((0..<3).map { select.double(at: $0) }) }
            let expected = zip(values, values.reversed()).map { [$0, $1, 0.25] }
            #expect("\(found.map { $0.map { $0 + 0 } })" == "\(expected.map { $0.map { $0 + 0 } })")
            var read: [[Double]] = []
            try StoreReader(path: store.path).query(stream: .accelerometer) { read.append($0.values) }
            #expect("\(read.map { $0.map { $0 + 0 } })" == "\(expected.map { $0.map { $0 + 0 } })")
        }
    }

    @Test("random decimals are stored in millionths, and random numbers are found again")
    func random() throws {
        var generator = SplitMix64(seed: 7)
        let decimals = (0..<500).map { _ in
            Double(Int64.random(in: -2_000_000_000...2_000_000_000, using: &generator)) / 1e6
        }
        let others = (0..<500).map { _ in Double.random(in: -100...100, using: &generator) }
        let store = try store([decimals, others, decimals])
        #expect(
            try store.database.integer("SELECT count(*) FROM _accelerometer WHERE _x NOT NULL AND _z NOT NULL") == 500)
        let select = try store.database.prepare("SELECT x, y FROM accelerometer ORDER BY t")
        for index in decimals.indices {
            #expect(
                try select.step() && select.double(at: 0) == decimals[index] && select.double(at: 1) == others[index])
        }
    }
}
