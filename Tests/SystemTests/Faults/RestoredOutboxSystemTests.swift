import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite(
    "An outbox restored from an older copy",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct RestoredOutboxSystemTests {
    @Test("an outbox restored from a copy loses no sample, although later batch numbers are acknowledged already")
    func restored() async throws {
        try await withSystem { system in
            let path = system.outbox(of: "walker")
            let collector = try system.startCollector()
            try await run(until: 10, in: system)
            try copy(path, to: path + "-copy")
            let copied = try batchCount(at: path)
            try await run(until: copied + 60, in: system)
            let epoch = try database(at: path).text("SELECT epoch FROM devices")

            // The restored outbox reuses the numbers of stored batches. Stop the collector, so that nothing is detected
            // yet.
            await collector.stop()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try copy(path + "-copy", to: path)
            // Without a broker, the agent accepts batches that the old acknowledgement would delete.
            let agent = try system.startAgent("walker", url: "mqtt://127.0.0.1:1")
            await waitForBatch(copied + 20, at: path)
            await agent.stop(SIGKILL)
            _ = try system.startCollector()
            try await system.drain("walker")

            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
            #expect(try database(at: path).text("SELECT epoch FROM devices") != epoch)
        }
    }

    /// Runs the agent until it has accepted a number of batches and all of them are acknowledged.
    private func run(until count: Int64, in system: TestSystem) async throws {
        let agent = try system.startAgent("walker")
        await waitForBatch(count, at: system.outbox(of: "walker"))
        await agent.stop()
        try await system.drain("walker")
    }

    private func waitForBatch(_ count: Int64, at path: String) async {
        await expectEventually("\(count) batches", within: .seconds(120)) {
            FileManager.default.fileExists(atPath: path) && (try? batchCount(at: path)) ?? 0 >= count
        }
    }

    /// Returns the highest batch number.
    private func batchCount(at path: String) throws -> Int64 {
        try database(at: path).integer("SELECT ifnull(max(seq), 0) FROM journal")
    }

    private func database(at path: String) throws -> SQLiteDatabase { try SQLiteDatabase(path: path, mode: .readOnly) }

    /// Copies a database including its write-ahead log.
    private func copy(_ path: String, to copy: String) throws {
        try SQLiteDatabase(path: path, mode: .readWrite).execute("VACUUM INTO '\(copy)'")
    }
}
