import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("A slow collector", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct SlowCollectorTests {
    @Test(
        "with a slow collector, outboxes grow and no sample is lost, although the broker drops queued messages",
        arguments: ["stopped", "store locked"])
    func slow(_ reason: String) async throws {
        let settings = ["max_inflight_messages 5", "max_queued_messages 20"]
        try await withSystem(brokerSettings: settings) { system in
            let collector = try system.startCollector()
            let agent = try system.startAgent("walker", ["--window", "200ms"])
            #expect(await collector.waitForState("active", of: "default/walker"))
            let outbox = try SQLiteDatabase(path: system.outbox(of: "walker"), mode: .readOnly)
            let store = try SQLiteDatabase(path: system.storePath, mode: .readWrite)

            if reason == "stopped" { collector.signal(SIGSTOP) } else { try store.execute("BEGIN IMMEDIATE") }
            // More than the broker keeps.
            let last = try outbox.integer("SELECT max(seq) FROM batches")
            try await expectEventually("\(agent.text)", within: .seconds(120)) {
                try outbox.integer("SELECT count(*) FROM batches WHERE seq > \(last)") > 60
            }
            if reason == "stopped" { collector.signal(SIGCONT) } else { try store.execute("ROLLBACK") }

            // The agent is still running.
            let newest = try outbox.integer("SELECT max(seq) FROM batches")
            try await expectEventually("\(agent.text)\(collector.text)", within: .seconds(120)) {
                try outbox.integer("SELECT count(*) FROM batches WHERE seq <= \(newest)") == 0
            }
            await agent.stop()
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }
}
