import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Failed writes during merges", .temporaryFolder)
struct MergeFaultTests {
    @Test(
        "if any single write of a merge or a commit fails, nothing is lost or doubled, and both succeed later",
        arguments: ["ABORT", "ROLLBACK"])
    func faultAtEachWrite(kind: String) throws {
        var work = try MergeWorkload()
        // The tables of the streams are created with their first samples.
        try work.write()
        try addFaults(to: work.store.database, kind)
        var failures = 0
        for round in 0..<2 {
            for _ in 0..<2 { failures += try repeated(&work) { try $0.write() } }
            try work.startMerge()
            while work.store.isMerging {
                failures += try repeated(&work) { try $0.store.mergeSlice(maxDuration: .zero) }
                // Stored samples are found in the table and in what waits, also after a failed slice.
                if failures % 3 == 0 { try work.write() }
            }
            try work.repeatAll()
            let rows = try work.store.database.integer("SELECT count(*) FROM _accelerometer")
            #expect(rows > 20, "round \(round)")
        }
        #expect(failures > 200)
        #expect(try work.difference == nil)
        try work.store.mergeAll()
        #expect(try work.difference == nil)
    }

    /// Lets the first, the second, … write of `body` fail until it succeeds.
    /// - Returns: the number of failures.
    private func repeated(_ work: inout MergeWorkload, _ body: (inout MergeWorkload) throws -> Void) throws -> Int {
        let database = work.store.database
        var failures = 0
        while true {
            try database.execute("UPDATE fault SET writes = \(failures)")
            do {
                try body(&work)
                try database.execute("UPDATE fault SET writes = 1000000")
                try #require(try work.difference == nil)
                return failures
            } catch {
                let text = "\(error)"
                try #require(text.contains("injected"), "\(text)")
                failures += 1
            }
            try #require(try work.difference == nil, "after failure \(failures)")
            try #require(!database.isInTransaction)
        }
    }

    /// Adds a trigger to each table. The writes after the number in `fault` fail.
    private func addFaults(to database: SQLiteDatabase, _ kind: String) throws {
        try database.execute("CREATE TEMP TABLE fault AS SELECT 1000000 AS writes")
        let tables = try database.rows(
            "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name LIKE '\\_%' ESCAPE '\\'")
        for table in tables + ["dropped", "conflicts"] {
            for event in ["INSERT", "UPDATE", "DELETE"] {
                try database.execute(
                    """
                    CREATE TEMP TRIGGER \(table)_\(event) BEFORE \(event) ON main.\(table) BEGIN
                        UPDATE fault SET writes = writes - 1;
                        SELECT RAISE(\(kind), 'injected') FROM fault WHERE writes < 0;
                    END
                    """)
            }
        }
    }
}
