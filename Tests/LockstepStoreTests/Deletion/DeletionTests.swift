import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Deletion", .temporaryFolder)
struct DeletionTests {
    /// Returns a request for times in µs after ``start``.
    private func deletion(
        _ times: Range<Int64>?, stream: String? = "motion/accelerometer", id: String = "a", isSecure: Bool = false
    ) -> Deletion {
        let range = times.map { start + $0.lowerBound..<start + $0.upperBound } ?? Deletion.earliest..<start + 1_000_000
        return Deletion(
            id: id, device: device("one"), stream: stream, times: range, at: time(2_000_000), who: "anna",
            reason: "wrong", isSecure: isSecure)
    }

    private func add(_ deletions: Deletion..., to store: SQLiteStore) throws {
        var group = IngestGroup()
        group.deletions = deletions
        try store.write(group)
    }

    private func maintain(_ store: SQLiteStore) {
        while store.needsMaintenance { store.performMaintenance() }
    }

    private func times(_ store: SQLiteStore, _ table: String = "accelerometer") throws -> [Int64] {
        try store.database.rows("SELECT t - \(start) FROM \(table) ORDER BY t").compactMap { Int64($0) }
    }

    @Test("samples in the table and those that wait are deleted, and only those of the device, stream and times")
    func range() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(0..<500)), received(acceleration(0..<500), from: device("two")))
        var other = SampleBlock(stream: .pressure)
        other.append(time: time(150), values: [1000])
        try store.write(received(acceleration([600, 700])), received(other))
        try add(deletion(100..<650), to: store)
        let reader = try StoreReader(path: path)
        #expect(try reader.deletions(of: nil).first?.done == nil && store.needsMaintenance)
        maintain(store)
        let all = try store.database.rows("SELECT device_id, count(*) FROM accelerometer GROUP BY 1")
        #expect(all == ["1|101", "2|500"])
        #expect(try times(store, "pressure") == [150])
        let stored = try #require(try reader.deletions(of: device("one")).first)
        #expect(
            stored.count == 401 && stored.refused == 0 && stored.done != nil && stored.deletion == deletion(100..<650))
        #expect(try reader.deletions(of: device("two")).isEmpty)
        #expect(try reader.devices().map(\.samples) == [102, 500])
        #expect(try reader.verification(counting: false).map(\.device.samples) == [102, 500])
    }

    @Test("samples of deleted times that arrive again are acknowledged, counted and not stored, also after a restart")
    func refused() throws {
        var (store, path): (SQLiteStore?, String) = try newStore()
        try store?.write(received(acceleration(0..<10), seq: 1))
        try add(deletion(3..<6), to: try #require(store))
        maintain(try #require(store))
        let result = try #require(store).write(received(acceleration(0..<12), seq: 2))
        #expect(result.devices[device("one")] == .init(stored: 2, duplicates: 7))
        #expect(result.received.values.first == [1...2])
        store?.close()
        store = nil
        let again = try SQLiteStore(path: path)
        try again.write(received(acceleration([4]), epoch: "f", seq: 1))
        #expect(try times(again) == [0, 1, 2, 6, 7, 8, 9, 10, 11])
        let stored = try #require(try StoreReader(path: path).deletions(of: nil).first)
        #expect(stored.count == 3 && stored.refused == 4)
    }

    @Test("samples of the group that has the request are not stored, and a repeated request counts once")
    func sameGroup() throws {
        let store = try newStore().store
        var group = IngestGroup(batches: [received(acceleration(0..<10))])
        group.deletions = [deletion(2..<20)]
        try store.write(group)
        try add(deletion(2..<20), to: store)
        maintain(store)
        #expect(try times(store) == [0, 1])
        #expect(try store.database.rows("SELECT count, refused FROM deletions") == ["0|8"])
    }

    @Test("a request that is rolled back has no effect")
    func rolledBack() throws {
        let store = try newStore().store
        var group = IngestGroup(batches: [received(acceleration(0..<3))])
        group.deletions = [deletion(0..<9)]
        try store.add(group)
        store.rollBack()
        try store.write(received(acceleration(0..<3)))
        #expect(try times(store) == [0, 1, 2] && !store.needsMaintenance)
        try add(deletion(0..<9), to: store)
        maintain(store)
        #expect(try times(store).isEmpty)
    }

    @Test("conflicts, refined data, clocks and events go with the samples")
    func everything() throws {
        let (store, path) = try newStore()
        var group = IngestGroup(batches: [received(acceleration(0..<10)), received(acceleration([5], z: 9))])
        group.clocks = [5, 2_000_000].map { offset in
            DeviceClock(
                device: device("one"), epoch: epoch("e"),
                point: ClockPoint(
                    collector: CollectorID(unchecked: "main"), time: time(offset), segment: time(0), offset: 1, skew: 0,
                    bound: 1, skewBound: 0))
        }
        try store.write(group)
        try store.database.execute(
            """
            INSERT INTO events (rule, device_id, t, at, text, late, severity)
                VALUES ('r', 1, \(start), 0, '', 0, 'info')
            """)
        let run = try RefinedRun(
            path: path, device: device("one"), kind: .location, method: "m", version: 1, parameters: "{}", now: time(0))
        try run.write([RefinedRow(time: start + 4, values: [1, 2, 3, 4, 5, 1, 0])])
        try run.complete(first: start, last: start + 10)
        try add(deletion(0..<10, stream: "location", id: "1"), to: store)
        maintain(store)
        func counts() throws -> [Int64] {
            try ["_location_refined", "conflicts", "clocks", "events", "accelerometer"].map {
                try store.database.integer("SELECT count(*) FROM \($0)")
            }
        }
        #expect(try counts() == [0, 1, 2, 1, 10])
        try add(deletion(nil, stream: nil, id: "2"), to: store)
        maintain(store)
        #expect(try counts() == [0, 0, 1, 0, 0])
        #expect(try StoreReader(path: path).devices().first?.lastSample == nil)
    }

    @Test("a store that is closed in between goes on with what is left")
    func interrupted() throws {
        var options = SQLiteStore.Options()
        options.limits.slice = .zero
        let path = TemporaryFolder.path + "/store"
        var store: SQLiteStore? = try SQLiteStore(path: path, options: options)
        for part in 0..<10 as Range<Int64> {
            try store?.write(received(acceleration(part * 1000..<part * 1000 + 1000)))
        }
        try add(deletion(500..<9_500), to: #require(store))
        var pieces = 0
        while store?.needsMaintenance == true {
            store?.performMaintenance()
            pieces += 1
            // Like a kill: without the merge of a clean stop.
            if pieces % 3 == 0 {
                store = nil
                store = try SQLiteStore(path: path, options: options)
            }
        }
        #expect(pieces > 5)
        let last = try #require(store)
        #expect(try times(last).count == 1000 && last.database.rows("SELECT count FROM deletions") == ["9000"])
        #expect(try StoreReader(path: path).devices().map(\.samples) == [1000])
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
    }

    @Test("with secure, no deleted value is left in the files")
    func secure() throws {
        let (store, path) = try newStore()
        // Waits, is merged, and is then deleted: all three leave copies.
        let marker = 123_456.789012
        for index in 0..<200 as Range<Int64> { try store.write(received(acceleration([index], z: marker))) }
        try store.mergeAll()
        for index in 200..<400 as Range<Int64> { try store.write(received(acceleration([index], z: marker))) }
        try add(deletion(0..<400, isSecure: true), to: store)
        maintain(store)
        try store.database.checkpoint(truncate: true)
        let bytes = withUnsafeBytes(of: marker.bitPattern.bigEndian) { Array($0) }
        let file = try Data(contentsOf: URL(filePath: path)) + Data(contentsOf: URL(filePath: path + "-wal"))
        let isFound = [bytes, Array("123456.789012".utf8)].contains { file.firstRange(of: Data($0)) != nil }
        #expect(!isFound)
        #expect(try store.database.rows("SELECT name FROM sqlite_schema WHERE name = '_zeros'").isEmpty)
    }

    @Test("a preview counts by stream and day, also what waits")
    func preview() throws {
        let (store, path) = try newStore()
        let day: Int64 = 86_400_000_000
        try store.write(received(acceleration([1, 2, day])))
        try store.write(received(acceleration([day + 1])))
        var other = SampleBlock(stream: .pressure)
        other.append(time: time(7), values: [1000])
        try store.write(received(other))
        let reader = try StoreReader(path: path)
        let days = try reader.preview(of: deletion(2..<day + 2, stream: nil))
        #expect(days.map(\.stream) == ["motion/accelerometer", "motion/accelerometer", "pressure"])
        #expect(days.map(\.count) == [1, 2, 1] && days[1].last == time(day + 1))
        #expect(try reader.preview(of: deletion(3..<9)).isEmpty)
    }

    @Test("a comparison tells deleted samples from missing ones")
    func comparison() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration(0..<5)))
        try add(deletion(0..<3), to: store)
        maintain(store)
        let comparison = try StoreReader(path: path).compare(acceleration(0..<6), of: device("one"))
        #expect(comparison.present == 2 && comparison.deleted == 3 && comparison.missing == [start + 5])
    }
}
