import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Rows of devices", .temporaryFolder)
struct DeviceSchemaTests {
    private let path = TemporaryFolder.path + "/store"
    private static let columns = """
        device_id, group_name, device, first_seen, last_seen, last_t, samples, duplicates, conflicts, state, since, previous,
        reason, state_seq, session, phase, rests_on, session_epoch
        """

    /// Replaces the table of devices by that of schema 8, and the first epochs by rows of `log_epochs`.
    static func restoreOldDevices(in database: SQLiteDatabase) throws {
        try RunMigrationTests.dropRuns(in: database)
        let create = try #require(baseTables.first).replacing("TABLE devices", with: "TABLE old_devices")
        try database.execute(
            """
            \(create);
            ALTER TABLE old_devices ADD COLUMN session_epoch TEXT;
            INSERT INTO old_devices (\(columns)) SELECT \(columns) FROM merged_devices;
            INSERT INTO log_epochs (epoch_id, device_id, epoch)
                SELECT 1000000 + device_id, device_id, first_epoch FROM merged_devices WHERE first_epoch IS NOT NULL;
            """)
        for log in LogNumber.allCases {
            for table in LogShape.allCases.map({ $0.table(of: log) }) + [log.changesTable, log.clocksTable] {
                let isNumbered = table == log.changesTable ? "last IS NOT NULL" : "true"
                try database.execute(
                    "UPDATE \(table) SET epoch_id = 1000000 + device_id WHERE epoch_id = 0 AND \(isNumbered)")
            }
        }
        try database.execute(
            """
            DROP TABLE merged_devices;
            ALTER TABLE old_devices RENAME TO merged_devices;
            -- The views of this version do not match the old table.
            DROP VIEW IF EXISTS clocks;
            CREATE VIEW IF NOT EXISTS clocks AS SELECT * FROM merged_clocks;
            DROP VIEW batches;
            CREATE VIEW batches AS SELECT * FROM merged_batches;
            """)
    }

    /// Replaces the tables of devices and logs by those of schema 8.
    static func restoreSchema8(in database: SQLiteDatabase) throws {
        try database.execute("PRAGMA legacy_alter_table = ON")
        try restoreOldDevices(in: database)
        for log in LogNumber.allCases {
            for shape in LogShape.allCases {
                let table = shape.table(of: log)
                let columns = (["epoch_id", "seq", "delay"] + shape.columns).joined(separator: ", ")
                try database.execute(
                    """
                    ALTER TABLE \(table) RENAME TO new_\(table);
                    CREATE TABLE \(table) (id INTEGER PRIMARY KEY, \(LogKey.columnsSQL) t INTEGER NOT NULL, \(columns));
                    INSERT INTO \(table) (id, t, \(columns)) SELECT id, t, \(columns) FROM new_\(table);
                    DROP TABLE new_\(table);
                    """)
            }
        }
        try database.execute("PRAGMA user_version = 8")
    }

    private func snapshot(
        _ state: LifecycleState, reason: String, seq: Int64 = 1, epoch: String?, phase: Phase? = .foreground
    ) -> LifecycleSnapshot {
        LifecycleSnapshot(
            last: .init(from: seq == 1 ? nil : .inactive, to: state, since: time(5 * seq), reason: reason, seq: seq),
            epoch: epoch.map { Epoch(unchecked: $0) }, session: start - 7, phase: phase, evidenceTime: time(9 * seq))
    }

    /// Writes the state of a device, as the collector does for the first presence and later ones.
    private func write(_ snapshot: LifecycleSnapshot, of name: String, to store: SQLiteStore) throws {
        let change = try #require(snapshot.last)
        try store.write(
            IngestGroup(
                transitions: [DeviceTransition(device: device(name), transition: change)],
                lifecycles: [device(name): snapshot], seen: [device(name): time(20 * change.seq)]))
    }

    @Test(
        "every state, reason, phase and epoch is read as it was written, also after an update and a restart",
        arguments: LifecycleState.allCases, ["foreground", "silent", "my own reason", "0", ""])
    func words(state: LifecycleState, reason: String) throws {
        let epochs = ["00000000000000ff", "ffffffffffffffff", "0123456789ABCDEF", "e", "0", nil]
        let phases = Phase.allCases + [nil]
        var expected: [DeviceAddress: LifecycleSnapshot] = [:]
        do {
            let store = try SQLiteStore(path: path)
            for (index, epoch) in epochs.enumerated() {
                for seq in 1...Int64(index % 2 + 1) {
                    let snapshot = snapshot(
                        state, reason: reason, seq: seq, epoch: epoch, phase: phases[index % phases.count])
                    try write(snapshot, of: "d\(index)", to: store)
                    expected[device("d\(index)")] = snapshot
                }
            }
            #expect(try store.lifecycles() == expected)
        }
        let store = try SQLiteStore(path: path)
        #expect(try store.lifecycles() == expected)
        #expect(
            try store.database.rows("SELECT first_seen - \(start), last_seen - \(start) FROM devices ORDER BY device")
                == ["20|20", "20|40", "20|20", "20|40", "20|20", "20|40"])
    }

    @Test("the first epoch of a device is in its row, and later ones are not")
    func epochs() throws {
        let first = DeviceEpoch(device: device("one"), epoch: epoch("00000000000000ff"))
        let second = DeviceEpoch(device: device("one"), epoch: epoch("b"))
        for round in 0..<3 {
            let store = try SQLiteStore(path: path)
            let result = try store.write(
                received(acceleration([Int64(round)]), epoch: "00000000000000ff", seq: Int64(round + 1)),
                received(acceleration([Int64(round + 100)]), epoch: "b", seq: Int64(2 * round + 1)))
            #expect(result.received[first] == [1...Int64(round + 1)])
            #expect(result.received[second]?.last == Int64(2 * round + 1))
            #expect(try store.database.rows("SELECT epoch FROM log_epochs") == ["b"])
            // The first two numbers are one range after the merge.
            let expected = [["1|1"], ["1|1", "2|2"], ["1|2", "3|3"]][round]
            #expect(
                try store.database.rows(
                    "SELECT first, last FROM batches WHERE epoch = '00000000000000ff' ORDER BY first") == expected)
            if round == 1 {
                try store.mergeLogs()
                #expect(
                    try store.database.rows("SELECT epoch, first, last FROM merged_batches ORDER BY epoch, first")
                        == ["00000000000000ff|1|2", "b|1|1", "b|3|3"])
            }
        }
    }

    @Test("after a rollback, another device with the same id has its own epoch")
    func rollBack() throws {
        let store = try SQLiteStore(path: path)
        try store.add(IngestGroup(batches: [received(acceleration([1]), epoch: "a", seq: 1)]))
        store.rollBack()
        #expect(try store.database.integer("SELECT count(*) FROM devices") == 0)
        try store.write(received(acceleration([2]), from: device("two"), epoch: "b", seq: 4))
        try store.write(received(acceleration([3]), epoch: "a", seq: 5))
        #expect(
            try store.database.rows("SELECT device, first_epoch FROM merged_devices ORDER BY device_id")
                == ["two|b", "one|a"])
        #expect(
            try store.database.rows("SELECT device_id, epoch, first FROM batches ORDER BY device_id")
                == ["1|b|4", "2|a|5"])
    }

    @Test("a device without messages of its own gets a row")
    func droppedOnly() throws {
        let store = try SQLiteStore(path: path)
        try store.write(
            IngestGroup(dropped: [DroppedBatches(device: device("one"), epoch: epoch("e"), ranges: [4...4])]))
        #expect(try store.database.rows("SELECT device, first_seen FROM devices") == ["one|-"])
        #expect(try store.database.rows("SELECT device_id FROM dropped") == ["1"])
    }

    @Test("the row of a new device takes at most 70 bytes, and its epoch and name no other page")
    func size() throws {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        let store = try SQLiteStore(path: path, options: options)
        let names = (0..<2000).map { "device-\($0)" }
        let states = Dictionary(
            uniqueKeysWithValues: names.map {
                (device($0), snapshot(.active, reason: "foreground", epoch: "123456789abcdef0"))
            })
        try store.write(
            IngestGroup(
                batches: names.map { received(acceleration([1]), from: device($0), epoch: "123456789abcdef0", seq: 1) },
                transitions: names.compactMap { name in
                    states[device(name)]?.last.map { DeviceTransition(device: device(name), transition: $0) }
                }, lifecycles: states, seen: [:]))
        func bytes(_ name: String) throws -> Int64 {
            try store.database.integer("SELECT ifnull(sum(pgsize), 0) FROM dbstat WHERE name = '\(name)'")
        }
        #expect(try store.database.integer("SELECT count(*) FROM devices") == names.count)
        #expect(try bytes("merged_devices") < 70 * names.count)
        for table in ["log_epochs", "merged_states", "sqlite_autoindex_merged_devices_1"] {
            #expect(try bytes(table) <= 4096, "\(table)")
        }
    }

    @Test("the migration keeps the values of all columns, numbers in the logs, and objects of users")
    func migration() throws {
        var devices: [String] = []
        let own = [
            "CREATE INDEX by_state ON merged_devices (state, device)",
            "CREATE TRIGGER note AFTER UPDATE ON merged_devices BEGIN SELECT 1; END",
            "CREATE VIEW mine AS SELECT device FROM merged_devices",
            "CREATE INDEX log_times ON \(LogShape.allCases[0].table(of: .first)) (t)",
        ]
        do {
            let store = try SQLiteStore(path: path)
            try write(snapshot(.active, reason: "foreground", epoch: "a"), of: "one", to: store)
            try write(snapshot(.background, reason: "dark", seq: 2, epoch: nil, phase: nil), of: "two", to: store)
            try store.write(
                IngestGroup(
                    batches: [
                        received(acceleration([1, 2]), epoch: "a", seq: 1),
                        received(acceleration([3]), from: device("three"), epoch: "c", seq: 2),
                    ], dropped: [DroppedBatches(device: device("four"), epoch: epoch("e"), ranges: [4...4])]))
            try Self.restoreSchema8(in: store.database)
            for sql in own { try store.database.execute(sql) }
            try store.database.execute(
                "ALTER TABLE merged_devices ADD COLUMN \"my note\" TEXT; UPDATE merged_devices SET \"my note\" = device || '!'"
            )
            devices = try store.database.rows("SELECT \(Self.columns) FROM merged_devices")
        }
        #expect(devices.count == 4)
        let store = try SQLiteStore(path: path)
        #expect(try store.database.userVersion == 12)
        #expect(try store.database.rows("SELECT \(Self.columns) FROM merged_devices") == devices)
        #expect(try store.database.rows("SELECT device_id, t - \(start) FROM accelerometer") == ["1|1", "1|2", "3|3"])
        #expect(
            try store.database.rows("SELECT \"my note\" FROM merged_devices") == ["one!", "two!", "three!", "four!"])
        for sql in own {
            #expect(try store.database.integer("SELECT count(*) FROM sqlite_schema WHERE sql = '\(sql)'") == 1)
        }
        #expect(try store.database.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'") == 0)
        let result = try store.write(
            received(acceleration([2]), epoch: "a", seq: 2),
            received(acceleration([9]), from: device("three"), epoch: "c", seq: 3))
        #expect(result.devices[device("one")] == .init(stored: 0, duplicates: 1))
        #expect(result.received[DeviceEpoch(device: device("one"), epoch: epoch("a"))] == [1...2])
        #expect(result.received[DeviceEpoch(device: device("three"), epoch: epoch("c"))] == [2...3])
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
    }
}
