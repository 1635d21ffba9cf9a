import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Query of the newest samples", .temporaryFolder)
struct LastSampleTests {
    @Test("the newest sample of each device is returned with its values")
    func newest() throws {
        let reader = try readerOfThreeDevices()
        #expect(try reader.rows(.last) == ["field/a 5", "lab/a 3", "lab/b 6"])
        var values: [[Double]] = []
        try reader.query(stream: .accelerometer, detail: .last) { values.append($0.values) }
        #expect(values == [[5, 0.5, -1], [3, 0.5, -1], [6, 0.5, -1]])
    }

    @Test("group, devices, time range and limit apply")
    func bounds() throws {
        let reader = try readerOfThreeDevices()
        #expect(try reader.rows(.last, group: "lab") == ["lab/a 3", "lab/b 6"])
        #expect(try reader.rows(.last, devices: ["b"]) == ["lab/b 6"])
        #expect(try reader.rows(.last, to: 5) == ["lab/a 3", "lab/b 4"])
        #expect(try reader.rows(.last, from: 4, to: 6) == ["field/a 5", "lab/b 4"])
        #expect(try reader.rows(.last, limit: 1) == ["field/a 5"])
    }

    @Test("each transaction reads many devices and ends before their rows are delivered")
    func manyDevices() throws {
        let (store, path) = try newStore()
        let names = (0..<2100).map { String(1000 + $0) }
        for name in names { try store.write(received(acceleration([1, 2]), from: device(name))) }
        let reader = try StoreReader(path: path)
        #expect(try reader.rows(.last) == names.map { "lab/\($0) 2" })
        #expect(try reader.rows(.last, limit: 1500) == names.prefix(1500).map { "lab/\($0) 2" })
        let other = try SQLiteDatabase(path: path, mode: .readWrite, busyTimeout: 100)
        // A new connection must read once before it knows the length of the log.
        try other.execute("SELECT count(*) FROM devices")
        try reader.query(stream: .accelerometer, detail: .last, limit: 1) { _ in
            try store.write(received(acceleration([3]), from: device("late")))
            #expect(try other.checkpoint(truncate: true))
        }
    }

    @Test("the newest sample is found by the primary key without sorting")
    func seek() throws {
        let reader = try readerOfThreeDevices()
        let select = SampleCursor.selectSQL("x", of: .accelerometer, newestOnly: true)
        let plan = try reader.database.rows("EXPLAIN QUERY PLAN \(select)")
        #expect(plan.count == 1 && plan.allSatisfy { $0.contains("PRIMARY KEY (device_id=? AND t>? AND t<?)") })
    }
}
