import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("A store that is removed", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct RemovedStoreTests {
    @Test("stalls its collector, which acknowledges nothing, and after a restart everything since then is stored")
    func removed() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let agent = try system.startAgent("walker")
            #expect(await collector.waitForState("active", of: "default/walker"), "\(collector.text)")
            let client = try await system.connect(["lockstep/default/$collector/main"])
            for suffix in ["", "-wal", "-shm"] {
                try FileManager.default.removeItem(atPath: system.storePath + suffix)
            }
            #expect(await collector.waitForOutput("store.db was removed or moved"), "\(collector.text)")
            await client.expectMessage { $0.text.contains(#""status":"stalled""#) && $0.text.contains("was removed") }
            // The last will of the dropped connection says 'offline'. It is replaced before the next connection.
            let lines = system.broker.text.split(separator: "\n")
            let report = try #require(lines.firstIndex { $0.contains(" as lockstep-collector-main-report-") })
            #expect(lines[..<report].count { $0.contains(" as lockstep-collector-main (") } == 1)

            let outbox = try SQLiteDatabase(path: system.outbox(of: "walker"), mode: .readOnly)
            let first = try outbox.integer("SELECT max(seq) FROM batches") + 1
            try await expectEventually(agent.text) { try outbox.integer("SELECT max(seq) FROM batches") > first + 5 }
            let last = try outbox.integer("SELECT max(seq) FROM batches")
            #expect(try outbox.integer("SELECT min(seq) FROM batches") <= first)
            await collector.stop()
            let next = try system.startCollector()
            #expect(await next.waitForState("active", of: "default/walker"), "\(next.text)")
            await agent.stop()
            try await system.drain("walker")
            let store = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
            let stored = try store.integer(
                """
                SELECT sum(min(last, \(last)) - max(first, \(first)) + 1) FROM batches
                WHERE last >= \(first) AND first <= \(last)
                """)
            #expect(stored == last - first + 1)
        }
    }
}
