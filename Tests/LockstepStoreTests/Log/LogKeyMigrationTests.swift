import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Migration of logs without row ids", .temporaryFolder)
struct LogKeyMigrationTests {
    private let folder = TemporaryFolder.path
    private var path: String { folder + "/store" }

    /// The version before the migration of the keys. Those of streams and views in the store are already up to date.
    private let oldVersion = 6

    /// The number of turns that ``createOldStore()`` writes.
    private static let groups = 40

    @Test("rows are kept in both logs, also in the middle of a merge, and samples sent again are duplicates")
    func content() throws {
        let expected = try createOldStore()
        let store = try SQLiteStore(path: path)
        #expect(try store.database.userVersion == StoreSchema.migrations.version)
        #expect(try store.database.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'") == 0)
        #expect(try store.database.integer("SELECT count(*) FROM log1_narrow") > 0)
        #expect(try store.database.integer("SELECT count(*) FROM log2_wide") > 0)
        #expect(try store.database.integer("PRAGMA legacy_alter_table") == 0)
        #expect(try difference(store, expected) == nil)
        // Queries of a reader use the spans of times.
        var count = 0
        try StoreReader(path: path).query(
            stream: .accelerometer, devices: [device("d0").device], from: time(10), to: time(20)
        ) { _ in count += 1 }
        #expect(count == 10)
        var model = StoreModel(streams: MergeWorkload.streams)
        for number in 0..<Self.groups { _ = model.write(MergeWorkload.group(Int64(number))) }
        for number in 0..<Self.groups {
            let result = try store.write(MergeWorkload.group(Int64(number)))
            #expect(result == model.write(MergeWorkload.group(Int64(number))))
            #expect(result.devices.values.allSatisfy { $0.stored == 0 })
        }
        let group = MergeWorkload.group(Int64(Self.groups))
        #expect(try store.write(group) == model.write(group))
        try store.mergeLogs()
        #expect(try difference(store, model.content) == nil)
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
    }

    @Test("with any number of free pages, a failed migration leaves the old store")
    func diskFull() throws {
        let expected = try createOldStore()
        let database = try SQLiteDatabase(path: path)
        var limit = try database.integer("PRAGMA page_count")
        var failures = 0
        while true {
            try database.execute("PRAGMA max_page_count = \(limit)")
            do {
                try StoreSchema.migrations.apply(to: database)
                break
            } catch let error as SQLiteError {
                try #require(error.isFull)
            }
            // The first step may have succeeded.
            let version = try database.userVersion
            try #require(version >= oldVersion && version < StoreSchema.migrations.version)
            try #require(try database.integer("PRAGMA legacy_alter_table") == 0)
            let accelerometer = try database.content(of: [.accelerometer]).streams
            #expect(accelerometer["accelerometer"] == expected.streams["accelerometer"], "\(limit) pages")
            failures += 1
            limit += 1
        }
        #expect(failures > 5)
        #expect(try difference(SQLiteStore(path: path), expected) == nil)
    }

    @Test("after a crash at any write of the migration, the next start completes it")
    func crash() throws {
        let expected = try createOldStore()
        let database = try SQLiteDatabase(path: path)
        try database.execute("PRAGMA wal_autocheckpoint = 0")
        try database.checkpoint(truncate: true)
        let before = try Data(contentsOf: URL(filePath: path))
        try StoreSchema.migrations.apply(to: database)
        let log = try Data(contentsOf: URL(filePath: path + "-wal"))
        #expect(try before == Data(contentsOf: URL(filePath: path)))
        let copy = folder + "/copy"
        let frame = 4096 + 24
        #expect(log.count > 10 * frame)
        for size in stride(from: 32, through: log.count, by: frame) {
            for suffix in ["", "-wal", "-shm", "-lock"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
            try before.write(to: URL(filePath: copy))
            try log.prefix(size).write(to: URL(filePath: copy + "-wal"))
            let version = try SQLiteDatabase(path: copy).userVersion
            // Each step of the migration is a transaction.
            #expect(size == log.count ? version == StoreSchema.migrations.version : version >= oldVersion)
            let found = try difference(SQLiteStore(path: copy), expected)
            try #require(found == nil, "after a crash at \(size)")
        }
        withExtendedLifetime(database) {}
    }

    @Test("rows whose key does not fit are not lost: the store is refused")
    func outside() throws {
        _ = try createOldStore()
        let database = try SQLiteDatabase(path: path)
        try database.execute(
            "INSERT INTO log1_narrow (turn, stream_id, device_id, t) VALUES (1, 1, \(LogKey.maxDevice + 1), 1)")
        let count = try database.integer("SELECT count(*) FROM log1_narrow")
        let error = try storeError { _ = try SQLiteStore(path: path) }
        #expect(error.code == .schema && error.description.contains("1 rows of the table log1_narrow"))
        #expect(try database.integer("SELECT count(*) FROM log1_narrow") == count)
        #expect(try database.userVersion == oldVersion)
    }

    private func difference(_ store: SQLiteStore, _ expected: StoreContent) throws -> String? {
        try store.database.content(of: MergeWorkload.streams).difference(from: expected)
    }

    /// Creates a store of the version before the migration, in the middle of a merge, with rows in both logs.
    /// - Returns: its content.
    private func createOldStore() throws -> StoreContent {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        let store = try SQLiteStore(path: path, options: options)
        var model = StoreModel(streams: MergeWorkload.streams)
        for number in 0..<Self.groups {
            let group = MergeWorkload.group(Int64(number))
            #expect(try store.write(group) == model.write(group))
            if number == Self.groups / 2 {
                try store.startMerge(of: .first)
                try store.mergeSlice(maxDuration: .zero)
            }
        }
        let database = try SQLiteDatabase(path: path)
        try database.execute("BEGIN; PRAGMA legacy_alter_table = ON")
        for log in LogNumber.allCases {
            for shape in LogShape.allCases {
                let table = shape.table(of: log)
                let columns = (["t", "epoch_id", "seq", "delay"] + shape.columns).joined(separator: ", ")
                try database.execute("ALTER TABLE \(table) RENAME TO new_\(table)")
                let create = try #require(LogSchema.create.first { $0.hasPrefix("CREATE TABLE \(table) ") })
                try database.execute(
                    """
                    \(create);
                    INSERT INTO \(table) (turn, stream_id, device_id, \(columns))
                        SELECT turn, stream_id, device_id, \(columns) FROM new_\(table);
                    DROP TABLE new_\(table)
                    """)
            }
            try database.execute("DROP TABLE \(log.spansTable)")
        }
        // As schema 4 had it.
        let selects = LogNumber.allCases.map { log in
            """
            SELECT sample.device_id, sample.t, CAST(v1 / 1e6 AS REAL), CAST(v2 / 1e6 AS REAL), CAST(v3 / 1e6 AS REAL)
            FROM log_turns CROSS JOIN log\(log.rawValue)_narrow AS sample ON sample.turn = log_turns.turn
                AND sample.stream_id = (SELECT stream_id FROM log_streams WHERE name = 'motion/accelerometer')
                AND +sample.device_id >= (SELECT first_device FROM logs WHERE log = \(log.rawValue))
            """
        }
        try database.execute("INSERT OR IGNORE INTO merged_clocks SELECT * FROM clocks")
        try DeviceSchemaTests.restoreOldDevices(in: database)
        try database.execute(
            """
            DROP VIEW clocks;
            DROP TABLE log1_clocks;
            DROP TABLE log2_clocks;
            ALTER TABLE merged_clocks RENAME TO clocks;
            DROP VIEW states;
            ALTER TABLE merged_states RENAME TO states;
            DROP VIEW accelerometer;
            CREATE VIEW accelerometer AS SELECT device_id, t, _x / 1e6 AS x, _y / 1e6 AS y, _z / 1e6 AS z FROM merged_accelerometer
                UNION ALL \(selects.joined(separator: " UNION ALL "));
            DELETE FROM log_turns WHERE turn > 4096;
            PRAGMA legacy_alter_table = OFF;
            PRAGMA user_version = \(oldVersion);
            COMMIT
            """)
        // No page is free.
        try database.execute("VACUUM")
        try database.checkpoint(truncate: true)
        withExtendedLifetime(store) {}
        return model.content
    }
}
