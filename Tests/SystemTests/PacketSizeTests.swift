import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite(
    "A broker with a small packet limit", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct PacketSizeTests {
    @Test("batches that are too large do not delay others, and later batches are made small enough")
    func smallPackets() async throws {
        try await withSystem(brokerSettings: ["max_packet_size 2000"]) { system in
            await system.broker.stop(SIGKILL)
            let agent = try system.start(
                "lockstep-agent",
                [
                    "--broker", system.broker.url, "--device", "walker", "--source", "simulate:1", "--outbox",
                    system.outbox(of: "walker"), "--window", "1s",
                ])
            #expect(await agent.waitForOutput("agent started"))
            // Batches that are created before the broker's limit is known.
            try await expectEventually(within: .seconds(120)) {
                try count("length(body) > 3000", in: system) > 1 && count("stream = 'location'", in: system) > 2
            }
            try await system.broker.start()
            let collector = try system.startCollector()
            #expect(await collector.waitForState("active", of: "default/walker", within: .seconds(120)))
            #expect(await agent.waitForOutput("batch too large for broker", within: .seconds(120)))
            let last = try count("true", "max(seq)", in: system)
            try await expectEventually(within: .seconds(120)) {
                try count("seq <= \(last) AND length(body) < 1800", in: system) == 0
            }
            // New batches are small enough to be delivered.
            try await expectEventually(within: .seconds(120)) {
                try count("seq > \(last + 20)", "max(seq)", in: system) > last + 40
            }
            try await expectEventually(within: .seconds(120)) {
                try count("seq > \(last + 20) AND seq <= \(last + 40)", in: system) == 0
            }
            #expect(agent.text.components(separatedBy: "batch too large for broker").count == 2, "\(agent.text)")
        }
    }

    /// Counts batches in the outbox.
    private func count(_ condition: String, _ value: String = "count(*)", in system: TestSystem) throws -> Int64 {
        let database = try SQLiteDatabase(path: system.outbox(of: "walker"), mode: .readOnly)
        return try database.integer("SELECT ifnull(\(value), 0) FROM batches WHERE \(condition)")
    }
}
