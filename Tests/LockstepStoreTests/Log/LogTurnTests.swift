import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Turns and spans of a log", .temporaryFolder)
struct LogTurnTests {
    private func open() throws -> SQLiteStore {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        return try newStore(options).store
    }

    private func offsets(_ path: String, _ range: Range<Int64>) throws -> [Int64] {
        var found: [Int64] = []
        try StoreReader(path: path).query(
            stream: .accelerometer, from: time(range.lowerBound), to: time(range.upperBound)
        ) { found.append($0.time.microseconds - start) }
        return found
    }

    @Test("a transaction with more rows than fit into a turn takes several, and is reverted as a whole")
    func fullTurn() throws {
        let store = try open()
        for log in LogNumber.allCases { store.logs[log].maxRowsInTurn = 4 }
        try store.write(received(acceleration(0..<3), seq: 1))
        #expect(store.logs[.first].lastTurn == 1)
        let group = IngestGroup(batches: [
            received(acceleration(3..<8), seq: 2), received(acceleration(8..<13), seq: 3),
            received(acceleration(0..<6), from: device("two"), seq: 1),
        ])
        // The trap reverts the first attempt.
        var trapped = group
        trapped.rejected = [RejectedMessage(at: time(0), topic: "trap", reason: "", size: 0, head: [])]
        try store.database.execute(
            "CREATE TEMP TRIGGER r BEFORE INSERT ON main.rejected BEGIN SELECT RAISE(ABORT, 'trap'); END")
        #expect(throws: StoreError.self) { try store.write(trapped) }
        #expect(store.logs[.first].index.rows == 3 && store.logs[.first].lastTurn == 1)
        #expect(try store.write(group).devices.values.map(\.stored).sorted() == [6, 10])
        // 16 rows in turns of 4.
        #expect(
            try store.database.rows("SELECT turn, count(*) FROM log1_narrow GROUP BY 1").dropFirst() == [
                "2|4", "3|4", "4|4", "5|4",
            ])
        #expect(store.logs[.first].lastTurn == 5)
        #expect(
            try store.database.rows("SELECT first, last FROM batches WHERE device_id = 1 ORDER BY first") == [
                "1|1", "2|2", "3|3",
            ])
        #expect(try store.write(group).devices.values.allSatisfy { $0.stored == 0 })
        let path = store.database.path
        #expect(try offsets(path, 0..<100) == Array(0..<13) + Array(0..<6))
        try store.mergeLogs()
        #expect(try offsets(path, 0..<100) == Array(0..<13) + Array(0..<6))
    }

    @Test("each span has the times of its turns, also after failed commits and a restart", arguments: [false, true])
    func spans(restarts: Bool) throws {
        let path = TemporaryFolder.path + "/store"
        if restarts { try writeTurns(1...19, to: try open()) }
        let store = try open()
        try writeTurns(restarts ? 20...50 : 1...50, to: store)
        // The last span is open. After a restart, the times before it are not known.
        let spans = try store.database.rows(
            """
            SELECT span, CASE first WHEN \(Int64.min) THEN 'open' ELSE first - \(start) END,
                CASE last WHEN \(Int64.max) THEN 'open' ELSE last - \(start) END FROM log1_spans
            """)
        #expect(
            spans == ["0|10|150", restarts ? "1|open|open" : "1|160|310", "2|3|470", "3|open|open"])
        for range in [Int64(0)..<1, 0..<10, 3..<4, 150..<161, 155..<160, 310..<320, 305..<320, 470..<600, 0..<9999] {
            let expected = (Int64(1)...50).map { $0 == 40 ? 3 : $0 * 10 }.filter(range.contains).sorted()
            #expect(try offsets(path, range) == expected, "\(range)")
        }
        try store.mergeLogs()
        #expect(try store.database.integer("SELECT count(*) FROM log1_spans") == 0)
    }

    /// Writes a sample per turn.
    private func writeTurns(_ turns: ClosedRange<Int64>, to store: SQLiteStore) throws {
        for turn in turns {
            // The time of a reverted turn must not be in a span. The turns after 15 and 47 begin a span.
            if turn == 5 || turn == 16 || turn == 48 { try fail(store) }
            // Turn 40 brings a sample of long ago.
            try store.write(received(acceleration([turn == 40 ? 3 : turn * 10])))
        }
    }

    private func fail(_ store: SQLiteStore) throws {
        try store.database.execute(
            "CREATE TEMP TRIGGER r BEFORE INSERT ON main.rejected BEGIN SELECT RAISE(ABORT, 'trap'); END")
        var group = IngestGroup(batches: [received(acceleration([9999]))])
        group.rejected = [RejectedMessage(at: time(0), topic: "trap", reason: "", size: 0, head: [])]
        #expect(throws: StoreError.self) { try store.write(group) }
        try store.database.execute("DROP TRIGGER r")
    }

    @Test("the view of a stream finds a device by the key of the log, and all devices without an index")
    func plan() throws {
        let store = try open()
        func plan(_ condition: String) throws -> [String] {
            let select = try store.database.prepare(
                "EXPLAIN QUERY PLAN SELECT t FROM accelerometer WHERE \(condition)")
            var steps: [String] = []
            while try select.step() { if let text = select.text(at: 3) { steps.append(text) } }
            return steps.filter { $0.contains("sample") }
        }
        let search = "SEARCH sample USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
        for condition in ["device_id = 1", "device_id = ?", "device_id = 1 AND t > 5", "t > 5", "true"] {
            // Of both logs and of the runs.
            #expect(try plan(condition) == [search, search, search], "\(condition)")
        }
        // The search of one device must not read the rows of the others.
        for index in 0..<50 {
            try store.write(
                IngestGroup(
                    batches: (0..<40).map {
                        received(acceleration([Int64(index)]), from: device("d\($0)"))
                    }))
        }
        let ofDevice = try store.database.prepare("SELECT count(*), max(t) FROM accelerometer WHERE device_id = 7")
        #expect(try ofDevice.step() && ofDevice.int64(at: 0) == 50)
    }

    @Test("rows of a device whose id does not fit into a key are written directly")
    func largeID() throws {
        let path = TemporaryFolder.path + "/large"
        try SQLiteStore(path: path).database.execute(
            """
            INSERT INTO merged_devices (device_id, group_name, device)
            VALUES (\(LogKey.maxDevice), 'lab', 'last'), (\(LogKey.maxDevice + 1), 'lab', 'large')
            """)
        let store = try SQLiteStore(path: path)
        for name in ["last", "large"] {
            try store.write(received(acceleration([1, 2]), from: device(name), seq: 1))
            #expect(
                try store.write(received(acceleration([2, 3]), from: device(name), seq: 2)).devices[device(name)]
                    == .init(stored: 1, duplicates: 1))
        }
        #expect(
            try store.database.rows("SELECT device_id, count(*) FROM accelerometer GROUP BY 1")
                == ["\(LogKey.maxDevice)|3", "\(LogKey.maxDevice + 1)|3"])
        #expect(try store.database.integer("SELECT count(*) FROM log1_narrow") == 3)
        #expect(try store.database.rows("SELECT samples FROM devices") == ["3", "3"])
        try store.mergeLogs()
        #expect(try store.database.integer("SELECT count(*) FROM merged_accelerometer") == 6)
    }
}
