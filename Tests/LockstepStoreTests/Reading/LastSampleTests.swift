import LockstepModel
import LockstepSQLite
import Testing

@testable import LockstepStore

@Suite("A query of the newest samples", .temporaryFolder)
struct LastSampleTests {
    @Test("gives one of each device, with its values")
    func newest() throws {
        let reader = try readerOfThreeDevices()
        #expect(try reader.rows(.last) == ["field/a 5", "lab/a 3", "lab/b 6"])
        var values: [[Double]] = []
        try reader.query(stream: .accelerometer, detail: .last) { values.append($0.values) }
        #expect(values == [[5, 0.5, -1], [3, 0.5, -1], [6, 0.5, -1]])
    }

    @Test("is bounded by group, devices, time and number")
    func bounds() throws {
        let reader = try readerOfThreeDevices()
        #expect(try reader.rows(.last, group: "lab") == ["lab/a 3", "lab/b 6"])
        #expect(try reader.rows(.last, devices: ["b"]) == ["lab/b 6"])
        #expect(try reader.rows(.last, to: 5) == ["lab/a 3", "lab/b 4"])
        #expect(try reader.rows(.last, from: 4, to: 6) == ["field/a 5", "lab/b 4"])
        #expect(try reader.rows(.last, limit: 1) == ["field/a 5"])
    }

    @Test("reads many devices together, and holds no state of the store while it gives their rows")
    func manyDevices() throws {
        let (store, path) = try newStore()
        let names = (0..<2100).map { String(1000 + $0) }
        for name in names { try store.write(received(acceleration([1, 2]), from: device(name))) }
        let reader = try StoreReader(path: path)
        #expect(try reader.rows(.last) == names.map { "lab/\($0) 2" })
        #expect(try reader.rows(.last, limit: 1500) == names.prefix(1500).map { "lab/\($0) 2" })
        let other = try SQLiteDatabase(path: path, mode: .readWrite, busyTimeout: 100)
        // A connection that has read nothing does not know of the log yet.
        try other.execute("SELECT count(*) FROM devices")
        try reader.query(stream: .accelerometer, detail: .last, limit: 1) { _ in
            try store.write(received(acceleration([3]), from: device("late")))
            #expect(try other.checkpoint(truncate: true))
        }
    }

    @Test("seeks the newest sample in the key, and sorts nothing")
    func seek() throws {
        let reader = try readerOfThreeDevices()
        let select = SampleCursor.select("x", of: .accelerometer, newestOnly: true)
        let plan = try reader.database.rows("EXPLAIN QUERY PLAN \(select)")
        #expect(plan.count == 1 && plan.allSatisfy { $0.contains("PRIMARY KEY (device_id=? AND t>? AND t<?)") })
    }
}
