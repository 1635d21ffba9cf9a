import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Migration of a store without logs", .temporaryFolder)
struct LogMigrationTests {
    private let path = TemporaryFolder.path + "/store"

    private func air() throws -> SensorStream {
        try SensorStream(
            declaring: "x/air", summary: "Air",
            columns: [SensorStream.Column(declaring: "ppm", kind: .real), .init(declaring: "n", kind: .integer)])
    }

    private func batch(_ stream: SensorStream, _ times: [Int64]) -> ReceivedBatch {
        received(SampleBlock(stream: stream, times: times.map { start + $0 }, columns: [[400, 401], [1, 2]]))
    }

    @Test("rows, numbers and counters are kept, and samples sent again are duplicates")
    func content() throws {
        try createOldStore()
        let store = try SQLiteStore(path: path, catalog: try StreamCatalog(declared: [air()]))
        #expect(try store.database.rows("SELECT t - \(start), x FROM accelerometer") == ["1|1.0", "2|2.0"])
        #expect(try store.database.rows("SELECT t - \(start), ppm, n FROM x_air") == ["1|400.0|1"])
        let result = try store.write(
            received(acceleration(1...3), seq: 5), batch(try air(), [1, 2]), received(acceleration([2], z: 8), seq: 6))
        #expect(result.devices[device("one")] == .init(stored: 2, duplicates: 3, conflicts: 1))
        #expect(result.received.values.first == [1...6])
        for _ in 0..<2 {
            #expect(try store.database.rows("SELECT t - \(start) FROM v_accelerometer") == ["1", "2", "3"])
            #expect(try store.database.rows("SELECT samples, duplicates, conflicts FROM devices") == ["5|3|1"])
            #expect(try store.database.rows("SELECT session_epoch, state FROM devices") == ["s|active"])
            #expect(try store.database.integer("SELECT count(*) FROM x_air") == 2)
            try store.mergeLogs()
        }
        #expect(try store.database.rows("SELECT first, last FROM batches") == ["1|6"])
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
    }

    @Test("views of users show new rows, and their indexes and triggers remain")
    func userObjects() throws {
        try createOldStore()
        let store = try SQLiteStore(path: path, catalog: try StreamCatalog(declared: [air()]))
        try store.write(received(acceleration([9])), batch(try air(), [7, 8]))
        func rows(_ sql: String) throws -> [String] { try store.database.rows(sql) }
        for _ in 0..<2 {
            #expect(try rows("SELECT device, t - \(start) FROM \"my view\" ORDER BY t") == ["one|1", "one|2", "one|9"])
            #expect(try rows("SELECT n FROM mean") == ["3"])
            #expect(try rows("SELECT ppm FROM air_copy ORDER BY t") == ["400.0", "400.0", "401.0"])
            try store.mergeLogs()
        }
        #expect(try rows("SELECT tbl_name FROM sqlite_schema WHERE name = 'by_x'") == ["merged_accelerometer"])
        try store.database.execute("INSERT INTO \"my view\" VALUES ('note', 5)")
        #expect(try rows("SELECT text FROM notes") == ["note"])
        let before = try rows("SELECT sql FROM sqlite_schema ORDER BY name")
        withExtendedLifetime(store) {}
        #expect(before.contains { $0.contains("CREATE TRIGGER annotate INSTEAD OF INSERT") })
        #expect(!before.contains { $0.contains("REFERENCES devices") })
    }

    @Test("a failed migration leaves the old store")
    func failed() throws {
        try createOldStore()
        let old = try SQLiteDatabase(path: path)
        try old.execute("CREATE TABLE merged_steps (a)")
        let schema = try old.rows("SELECT name, sql FROM sqlite_schema ORDER BY name")
        _ = try storeError { _ = try SQLiteStore(path: path, catalog: try StreamCatalog(declared: [air()])) }
        #expect(try old.rows("SELECT name, sql FROM sqlite_schema ORDER BY name") == schema)
        #expect(try old.userVersion == 3)
    }

    /// Creates a store with schema 3, with rows, and with views, an index and a trigger of a user.
    private func createOldStore() throws {
        let database = try SQLiteDatabase(path: path)
        try database.execute("PRAGMA journal_mode = WAL")
        for table in baseTables + [StreamTable.create] { try database.execute(table) }
        let definition = StreamDefinition(try air()).json
        let stream = "device_id INTEGER NOT NULL REFERENCES devices, t INTEGER NOT NULL, PRIMARY KEY (device_id, t)"
        func table(_ name: String, _ columns: String) -> String {
            "CREATE TABLE \(name) (\(stream.replacing("PRIMARY", with: "\(columns), PRIMARY"))) WITHOUT ROWID;"
        }
        try database.execute(
            """
            ALTER TABLE devices ADD COLUMN session_epoch TEXT /* epoch of the session */;
            \(table("accelerometer", "x REAL, y REAL, z REAL"))
            \(table("steps", "start INTEGER, steps INTEGER, distance REAL, pace REAL, avg_pace REAL, cadence REAL"))
            \(table("x_air", "ppm REAL, n INTEGER"))
            CREATE VIEW v_accelerometer AS SELECT group_name, device, sample.t AS t
                FROM accelerometer AS sample JOIN devices USING (device_id);
            CREATE VIEW v_gaps AS SELECT device_id, first FROM batches;
            PRAGMA application_id = 0x4C4B5354;
            PRAGMA user_version = 3;

            INSERT INTO streams VALUES ('x/air', 'x_air', '\(definition)');
            INSERT INTO devices (device_id, group_name, device, samples, state, since, reason, state_seq, session_epoch)
            VALUES (1, 'lab', 'one', 3, 'active', \(start + 5), 'foreground', 1, 's');
            INSERT INTO states VALUES (1, 1, 'active', \(start + 5), NULL, 'foreground');
            INSERT INTO batches VALUES (1, 'e', 1, 4);
            INSERT INTO accelerometer VALUES (1, \(start + 1), 1, 0.5, -1), (1, \(start + 2), 2, 0.5, -1);
            INSERT INTO x_air VALUES (1, \(start + 1), 400, 1);

            CREATE INDEX by_x ON accelerometer (x);
            CREATE VIEW "my view" AS SELECT device, t FROM accelerometer JOIN devices USING (device_id);
            CREATE VIEW mean AS SELECT count(*) AS n FROM "my view";
            CREATE VIEW air_copy AS SELECT * FROM x_air;
            CREATE TABLE notes (text);
            CREATE TRIGGER annotate INSTEAD OF INSERT ON "my view" BEGIN INSERT INTO notes VALUES (new.device); END;
            """)
    }
}
