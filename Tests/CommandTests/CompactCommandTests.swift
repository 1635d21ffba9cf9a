import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("lockstep compact")
struct CompactCommandTests {
    @Test("--summaries makes summaries again from samples, if no collector runs")
    func summaries() async throws {
        try await withSummaries { path in
            let database = try SQLiteDatabase(path: path, mode: .readWrite)
            try database.execute("UPDATE _minutes_accelerometer SET x_sum = 0")
            let run = try await lockstep(["compact", "--summaries"], path)
            #expect(
                run.status == 0
                    && run.text.contains("120 summaries made from samples, 0 kept because samples have left"),
                "\(run.text)")
            #expect(try database.integer("SELECT count(*) FROM _minutes_accelerometer WHERE x_sum = 30") == 120)
            let store = try SQLiteStore(path: path)
            let refused = try await lockstep(["compact", "--summaries"], path)
            #expect(refused.status != 0 && refused.text.contains("stop the collector"), "\(refused.text)")
            store.close()
        }
    }

    @Test("--summaries is refused for a ClickHouse store")
    func clickHouse() async throws {
        let run = try await RunningProgram.run(
            Programs.built("lockstep"),
            ["compact", "--summaries", "--store", "clickhouse://localhost/samples"])
        #expect(run.status != 0 && run.text.contains("--summaries is for SQLite stores"), "\(run.text)")
    }
}

/// Creates a store with 8,000 samples of a device, one a second from a whole hour on, and the summaries of two hours.
func withSummaries(_ body: (String) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
        let path = folder + "/store.db"
        let times: [Int64] = (0..<8000).map { 1_699_999_200_000_000 + $0 * 1_000_000 }
        try {
            let store = try SQLiteStore(path: path)
            try store.write(IngestGroup(batches: [received(block(times, x: times.map { _ in 0.5 }), "left", nil)]))
            store.summaries.due = .now
            repeat { store.performSummaries() } while store.needsSummaries
            store.close()
        }()
        try await body(path)
    }
}
