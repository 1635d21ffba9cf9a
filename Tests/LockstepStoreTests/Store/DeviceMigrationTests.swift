import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Migration of the rows of devices", .temporaryFolder)
struct DeviceMigrationTests {
    private let path = TemporaryFolder.path + "/store"

    /// Creates a store of schema 8 with the devices `one` and `two`, and lets a user change it.
    private func createOldStore(_ changes: String) throws {
        let store = try SQLiteStore(path: path)
        try store.write(
            received(acceleration([1]), epoch: "a", seq: 1),
            received(acceleration([2]), from: device("two"), epoch: "b", seq: 1))
        try DeviceSchemaTests.restoreSchema8(in: store.database)
        try store.database.execute(changes)
    }

    @Test("columns of users keep their values and definitions, whatever their names are")
    func columns() throws {
        try createOldStore(
            """
            ALTER TABLE merged_devices ADD COLUMN start TEXT NOT NULL DEFAULT 'a,)' COLLATE NOCASE;
            ALTER TABLE merged_devices ADD COLUMN "my ""note, x" INTEGER CHECK ("my ""note, x" < 10) /* mine */;
            ALTER TABLE merged_devices ADD COLUMN [upper] TEXT AS (upper(device) || start);
            CREATE INDEX by_upper ON merged_devices ([upper]);
            UPDATE merged_devices SET start = device, "my ""note, x" = device_id
            """)
        let store = try SQLiteStore(path: path)
        #expect(
            try store.database.rows("SELECT device, start, \"my \"\"note, x\", upper FROM merged_devices")
                == ["one|one|1|ONEone", "two|two|2|TWOtwo"])
        #expect(
            try store.database.rows("SELECT device FROM merged_devices INDEXED BY by_upper WHERE upper = 'TWOtwo'")
                == ["two"])
        try store.write(received(acceleration([1]), from: device("three"), epoch: "c", seq: 1))
        #expect(
            try store.database.rows("SELECT start, upper FROM merged_devices WHERE start = 'A,)'") == ["a,)|THREEa,)"])
        #expect(throws: SQLiteError.self) {
            try store.database.execute("UPDATE merged_devices SET \"my \"\"note, x\" = 10")
        }
    }

    @Test(
        "a column of a user with the name of a new one is refused with advice, and nothing changes",
        arguments: ["Origin", "state_code", "FIRST_EPOCH"])
    func takenName(name: String) throws {
        try createOldStore(
            "ALTER TABLE merged_devices ADD COLUMN \(name) TEXT; UPDATE merged_devices SET \(name) = device")
        let error = try storeError { _ = try SQLiteStore(path: path) }
        let advice = "ALTER TABLE merged_devices RENAME COLUMN \"\(name)\" TO \"my_\(name)\""
        #expect(error.code == .schema)
        #expect(error.description.contains(advice))
        do {
            let database = try SQLiteDatabase(path: path)
            #expect(try database.userVersion == 8)
            #expect(try database.rows("SELECT \(name) FROM merged_devices") == ["one", "two"])
            try database.execute(advice)
        }
        let store = try SQLiteStore(path: path)
        #expect(try store.database.rows("SELECT my_\(name) FROM merged_devices") == ["one", "two"])
    }

    @Test(
        "a trigger that names a computed column is refused with advice",
        arguments: [
            "AFTER UPDATE OF device, \"State\" ON merged_devices BEGIN SELECT 1; END",
            "AFTER UPDATE ON merged_devices BEGIN UPDATE merged_devices SET reason = 'x' WHERE device = 'y'; END",
        ])
    func trigger(_ definition: String) throws {
        try createOldStore("CREATE TRIGGER mine \(definition)")
        let error = try storeError { _ = try SQLiteStore(path: path) }
        #expect(error.code == .schema)
        #expect(error.description.contains("your trigger mine on merged_devices"))
        try SQLiteDatabase(path: path).execute("DROP TRIGGER mine")
        _ = try SQLiteStore(path: path)
    }

    @Test("triggers on rows, and on columns that are stored, fire after the migration")
    func firedTrigger() throws {
        try createOldStore(
            """
            CREATE TABLE notes (note TEXT);
            CREATE TRIGGER any AFTER UPDATE ON merged_devices WHEN new.state IS NOT old.state
            BEGIN INSERT INTO notes VALUES (new.device || ' ' || new.state); END
            """)
        let store = try SQLiteStore(path: path)
        try store.database.execute(
            """
            CREATE TRIGGER stored AFTER UPDATE OF state_code ON merged_devices
            BEGIN INSERT INTO notes VALUES (new.reason); END
            """)
        let change = LifecycleTransition(from: nil, to: .active, since: time(5), reason: "foreground", seq: 1)
        let snapshot = LifecycleSnapshot(last: change, session: 7, phase: .foreground, evidenceTime: time(3))
        try store.write(
            IngestGroup(
                transitions: [DeviceTransition(device: device("one"), transition: change)],
                lifecycles: [device("one"): snapshot], seen: [device("one"): time(20)]))
        #expect(try store.database.rows("SELECT note FROM notes ORDER BY note") == ["foreground", "one active"])
    }

    @Test("a second row of a device, and rows with ids of any size, do not disturb")
    func ownRows() throws {
        let store = try SQLiteStore(path: path)
        try store.write(received(acceleration([1]), epoch: "a", seq: 1))
        let other = try SQLiteDatabase(path: path)
        // The collector gives the next device the id 2.
        try other.execute(
            """
            INSERT INTO merged_devices (device_id, group_name, device)
            VALUES (2, 'lab', 'one'), (\(Int64.max), 'lab', 'large'), (-1, 'lab', 'one')
            """)
        let batch = received(acceleration([2]), from: device("two"), epoch: "b", seq: 1)
        _ = try storeError { _ = try store.write(batch) }
        try store.write(batch)
        func check(_ store: SQLiteStore) throws {
            try store.write(received(acceleration([3]), from: device("large"), epoch: "c", seq: 1))
            try store.write(received(acceleration([4]), epoch: "a", seq: 2))
            try store.mergeLogs()
            #expect(
                try store.database.rows("SELECT device, device_id FROM merged_devices WHERE samples > 0")
                    == ["one|1", "two|3", "large|4"])
            #expect(try store.database.rows("SELECT device_id FROM accelerometer ORDER BY t") == ["1", "3", "4", "1"])
        }
        try check(store)
        let ranges = try StoreReader(path: path).timeRanges(
            of: .accelerometer, devices: [device("two"), device("large")])
        #expect(ranges[device("two")] == time(2)...time(2))
        #expect(ranges[device("large")] == time(3)...time(3))
    }

    @Test("after a restart, rows of users are ignored as well")
    func ownRowsAfterRestart() throws {
        do {
            let store = try SQLiteStore(path: path)
            try store.write(received(acceleration([1]), epoch: "a", seq: 1))
            try store.database.execute(
                """
                INSERT INTO merged_devices (device_id, group_name, device)
                VALUES (\(Int64.max), 'lab', 'one'), (2, 'lab', 'one')
                """)
        }
        let store = try SQLiteStore(path: path)
        try store.write(
            received(acceleration([2]), epoch: "a", seq: 2),
            received(acceleration([3]), from: device("two"), epoch: "b", seq: 1))
        #expect(try store.database.rows("SELECT device_id FROM accelerometer ORDER BY t") == ["1", "1", "3"])
        var times: [Int64] = []
        try StoreReader(path: path).merge(streams: [.accelerometer], devices: [device("one")]) { row, _ in
            times.append(row.time.microseconds - start)
        }
        #expect(times == [1, 2])
    }
}
