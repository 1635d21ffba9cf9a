import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Queries during merges", .temporaryFolder)
struct MergeQueryTests {
    private static let deviceCount = 12

    /// Creates a store whose rows are in the table, are being moved, and wait: backlog of every device waits.
    private func storeWithRows() throws -> SQLiteStore {
        let store = try newStore().store
        func write(_ times: Range<Int64>) throws {
            var group = IngestGroup()
            for index in 10..<10 + Self.deviceCount {
                group.append(received(acceleration(times), from: device("d\(index)")))
            }
            try store.write(group)
        }
        try write(20..<30)
        try store.mergeAll()
        try write(40..<50)
        try write(35..<38)
        try store.startMerge()
        try write(10..<15)
        return store
    }

    @Test(
        "a query returns each row once, although a merge runs between its rows",
        arguments: [
            (.samples, 28, 1), (.samples, 28, 7), (.averages(span: 7), 6, 1), (.averages(span: 7), 6, 3), (.last, 1, 1),
        ] as [(QueryDetail, Int, Int)])
    func mergeBetweenRows(detail: QueryDetail, rowsPerDevice: Int, rowsPerSlice: Int) throws {
        let store = try storeWithRows()
        let reader = try StoreReader(path: store.path)
        func rows(_ each: (Int) throws -> Void) throws -> [String] {
            var rows: [String] = []
            try reader.query(stream: .accelerometer, detail: detail) { row in
                rows.append("\(row.device) \(row.time.microseconds - start) \(row.values)")
                try each(rows.count)
            }
            return rows
        }
        let expected = try rows { _ in }
        #expect(expected.count == rowsPerDevice * Self.deviceCount && Set(expected).count == expected.count)
        var slices = 0
        let found = try rows { count in
            guard count % rowsPerSlice == 0 else { return }
            if store.merge == nil { try store.startMerge() }
            try store.mergeSlice(maxDuration: .zero)
            slices += 1
        }
        #expect(found == expected && slices >= Self.deviceCount)
        #expect(try rows { _ in } == expected)
    }

    @Test("counts and comparisons are the same before, during and after a merge")
    func verification() throws {
        let store = try storeWithRows()
        let reader = try StoreReader(path: store.path)
        let expected = try reader.verification()
        #expect(expected.count == Self.deviceCount && expected.allSatisfy { $0.samples.map(\.count) == [28] })
        let devices = try reader.devices()
        while true {
            #expect(try reader.verification() == expected)
            #expect(try reader.devices() == devices)
            for name in ["d10", "d15", "d21"] {
                let comparison = try reader.compare(acceleration(8..<32), of: device(name))
                #expect(comparison.present == 15 && comparison.different.isEmpty)
                #expect(comparison.missing.map { $0 - start } == [8, 9, 15, 16, 17, 18, 19, 30, 31])
                #expect(try reader.compare(acceleration(36..<46, z: 3), of: device(name)).different.count == 8)
            }
            guard store.merge != nil else { break }
            try store.mergeSlice(maxDuration: .zero)
        }
        // A comparison sees rows that were written after the previous one.
        for times in [60..<62, 60..<63] as [Range<Int64>] {
            try store.write(received(acceleration(times), from: device("d21")))
            #expect(try reader.compare(acceleration(60..<64), of: device("d21")).present == times.count)
        }
    }
}
