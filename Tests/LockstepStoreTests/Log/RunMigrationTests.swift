import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Migration of a store without runs", .temporaryFolder)
struct RunMigrationTests {
    private let path = TemporaryFolder.path + "/store"

    /// Removes the tables of the runs, which are empty, and their part of the views, and later tables.
    static func dropRuns(in database: SQLiteDatabase) throws {
        let views = try database.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'view' AND sql LIKE '%log_runs%' ORDER BY name")
        for view in views {
            let sql = try #require(try database.text("SELECT sql FROM sqlite_schema WHERE name = '\(view)'"))
            // The runs are the last part of each view.
            let end = try #require(sql.ranges(of: "UNION ALL").last?.lowerBound)
            try database.execute("DROP VIEW \(view); \(sql[..<end])")
        }
        try database.execute(
            """
            DROP TABLE log_runs;
            DROP TABLE run_narrow;
            DROP TABLE run_wide;
            DROP TABLE run_clocks;
            DELETE FROM logs WHERE log = 3;
            DROP VIEW v_devices;
            DROP VIEW v_gaps;
            DROP TABLE reports;
            DROP TABLE files;
            """)
    }

    /// Changes a store to schema 9.
    private func restoreSchema9(in database: SQLiteDatabase) throws {
        try Self.dropRuns(in: database)
        try database.execute("PRAGMA user_version = 9")
    }

    @Test("rows of tables and logs, and objects of users are kept, and the rows of its logs can be moved to runs")
    func content() throws {
        let own = [
            "CREATE VIEW mine AS SELECT count(*) AS n FROM accelerometer",
            "CREATE INDEX by_x ON merged_accelerometer (_x)",
            "CREATE TRIGGER note AFTER INSERT ON log1_narrow BEGIN SELECT 1; END",
        ]
        var model = StoreModel(streams: MergeWorkload.streams)
        do {
            let store = try SQLiteStore(path: path, options: MergeWorkload.options(usesRuns: false))
            for number in 0..<6 {
                let group = MergeWorkload.group(Int64(number))
                #expect(try store.write(group) == model.write(group))
                if number == 2 { try store.mergeLogs() }
                if number == 4 {
                    try store.startMerge(of: store.activeLog)
                    try store.mergeSlice(maxDuration: .zero)
                }
            }
            for sql in own { try store.database.execute(sql) }
            try restoreSchema9(in: store.database)
            #expect(try store.database.content(of: MergeWorkload.streams).difference(from: model.content) == nil)
        }
        let store = try SQLiteStore(path: path, options: MergeWorkload.options(usesRuns: true))
        func difference() throws -> String? {
            try store.database.content(of: MergeWorkload.streams).difference(from: model.content)
        }
        #expect(try store.database.userVersion == 12)
        #expect(try difference() == nil)
        try store.finishMerge()
        #expect(!store.runs.isEmpty)
        #expect(try difference() == nil)
        for number in 0..<7 {
            let group = MergeWorkload.group(Int64(number))
            #expect(try store.write(group) == model.write(group))
        }
        for sql in own {
            #expect(try store.database.integer("SELECT count(*) FROM sqlite_schema WHERE sql = '\(sql)'") == 1)
        }
        try store.mergeLogs()
        #expect(try difference() == nil)
        #expect(try StoreReader(path: path).integrityCheck().isEmpty)
    }
}
