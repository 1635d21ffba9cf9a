import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Migration of a store with schema 1", .temporaryFolder)
struct UpgradeTests {
    private let path = TemporaryFolder.path + "/store"

    @Test("a collector migrates the store and keeps its content")
    func upgraded() throws {
        try createOldStore()
        let store = try SQLiteStore(path: path)
        #expect(try store.database.userVersion == StoreSchema.migrations.version)
        let change = LifecycleTransition(from: nil, to: .active, since: time(5), reason: "foreground", seq: 1)
        #expect(
            try store.lifecycles()
                == [
                    device("one"): LifecycleSnapshot(
                        last: change, session: 7, phase: .foreground, evidenceTime: time(3))
                ])
        // Stored data is recognised: repeated samples are duplicates, and batch numbers are known.
        let result = try store.write(received(acceleration(1...3), seq: 5))
        #expect(result.devices == [device("one"): IngestResult.Counts(stored: 1, duplicates: 2)])
        #expect(result.received.values.first == [1...5])
        for (table, count) in [("states", 1), ("dropped", 1), ("conflicts", 1), ("rejected", 1), ("accelerometer", 3)] {
            #expect(try store.database.integer("SELECT count(*) FROM \(table)") == count, "\(table)")
        }
        #expect(try store.database.rows("SELECT device, t FROM v_accelerometer LIMIT 1") == ["one|\(start + 1)"])
    }

    @Test("a reader sees all rows between the migration and the creation of the views")
    func betweenSteps() throws {
        try createOldStore()
        try StoreSchema.migrations.apply(to: SQLiteDatabase(path: path))
        let reader = try StoreReader(path: path)
        #expect(try reader.devices().map(\.samples) == [2])
        #expect(try reader.verification().first?.samples.map(\.count) == [2])
        #expect(try reader.database.integer("SELECT count(*) FROM accelerometer") == 2)
    }

    @Test("a reader does not change the store, and its error says how to migrate it")
    func read() throws {
        try createOldStore()
        let error = try storeError { _ = try StoreReader(path: path) }
        #expect(error.code == .schema)
        #expect(error.description.contains("start the collector of this version once with this store"))
        #expect(try SQLiteDatabase(path: path).userVersion == 1)
    }

    /// Creates a store with schema 1, as the first version of Lockstep did.
    private func createOldStore() throws {
        let database = try SQLiteDatabase(path: path)
        try database.execute(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE devices (
                device_id INTEGER PRIMARY KEY, group_name TEXT NOT NULL, device TEXT NOT NULL, first_seen INTEGER,
                last_seen INTEGER, last_t INTEGER, samples INTEGER NOT NULL DEFAULT 0,
                duplicates INTEGER NOT NULL DEFAULT 0, conflicts INTEGER NOT NULL DEFAULT 0, state TEXT, since INTEGER,
                previous TEXT, reason TEXT, state_seq INTEGER, session INTEGER, phase TEXT, rests_on INTEGER,
                UNIQUE (group_name, device));
            CREATE TABLE states (
                device_id INTEGER NOT NULL REFERENCES devices, seq INTEGER NOT NULL, state TEXT NOT NULL,
                since INTEGER NOT NULL, previous TEXT, reason TEXT NOT NULL, PRIMARY KEY (device_id, seq)
            ) WITHOUT ROWID;
            CREATE TABLE batches (
                device_id INTEGER NOT NULL REFERENCES devices, epoch TEXT NOT NULL, first INTEGER NOT NULL,
                last INTEGER NOT NULL, PRIMARY KEY (device_id, epoch, first)) WITHOUT ROWID;
            CREATE TABLE dropped (
                device_id INTEGER NOT NULL REFERENCES devices, epoch TEXT NOT NULL, first INTEGER NOT NULL,
                last INTEGER NOT NULL, PRIMARY KEY (device_id, epoch, first)) WITHOUT ROWID;
            CREATE TABLE conflicts (
                device_id INTEGER NOT NULL REFERENCES devices, stream TEXT NOT NULL, t INTEGER NOT NULL,
                stored TEXT NOT NULL, received TEXT NOT NULL, epoch TEXT, seq INTEGER, at INTEGER NOT NULL,
                PRIMARY KEY (device_id, stream, t, received)) WITHOUT ROWID;
            CREATE TABLE rejected (
                id INTEGER PRIMARY KEY, at INTEGER NOT NULL, topic TEXT NOT NULL, reason TEXT NOT NULL,
                size INTEGER NOT NULL, head BLOB NOT NULL);
            CREATE TABLE accelerometer (
                device_id INTEGER NOT NULL, t INTEGER NOT NULL, x REAL, y REAL, z REAL,
                PRIMARY KEY (device_id, t)) WITHOUT ROWID;
            PRAGMA application_id = 0x4C4B5354;
            PRAGMA user_version = 1;

            INSERT INTO devices (device_id, group_name, device, samples, state, since, reason, state_seq, session, phase,
                rests_on)
            VALUES (1, 'lab', 'one', 2, 'active', \(start + 5), 'foreground', 1, 7, 'foreground', \(start + 3));
            INSERT INTO states VALUES (1, 1, 'active', \(start + 5), NULL, 'foreground');
            INSERT INTO batches VALUES (1, 'e', 1, 4);
            INSERT INTO dropped VALUES (1, 'e', 2, 2);
            INSERT INTO conflicts VALUES (1, 'motion/accelerometer', \(start + 1), '{}', '{"x":9}', 'e', 1, \(start));
            INSERT INTO rejected VALUES (1, \(start), 'lockstep/x', 'bad', 1, x'00');
            INSERT INTO accelerometer VALUES (1, \(start + 1), 1, 0.5, -1), (1, \(start + 2), 2, 0.5, -1);
            """)
    }
}
