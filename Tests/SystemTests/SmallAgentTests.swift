import Foundation
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "The small agent in Python",
    .enabled(
        if: Programs.isInstalled("mosquitto") && Programs.pythonHas("paho.mqtt.client"),
        "mosquitto or python3-paho-mqtt is not installed"))
struct SmallAgentTests {
    @Test("delivers every accepted sample, although it and the collector are killed")
    func killed() async throws {
        try await withSystem { system in
            let outbox = system.outbox(of: "small")
            func startAgent() throws -> RunningProgram {
                try RunningProgram(
                    Programs.installed("python3") ?? "",
                    [
                        Programs.source("deploy/examples/small_agent.py"), "--port", "\(system.broker.port)",
                        "--device",
                        "small", "--outbox", outbox, "--interval", "0.002",
                    ])
            }
            let first = try system.startCollector()
            try await system.waitForSubscription()
            let killed = try startAgent()
            defer { killed.signal(SIGKILL) }
            let reader = try await system.reader()
            try await expectEventually("\(killed.text)") { try (reader.devices().first?.samples ?? 0) > 100 }
            await first.stop(SIGKILL)
            try await expectEventually("\(killed.text)") { try batches(in: outbox) > 20 }
            await killed.stop(SIGKILL)

            let agent = try startAgent()
            defer { agent.signal(SIGKILL) }
            #expect(await agent.waitForOutput("connected"))
            let second = try system.startCollector()
            try await expectEventually("\(agent.text)\(second.text)") { try batches(in: outbox) < 5 }
            await agent.stop()
            #expect(agent.text.contains("stopped, 0 batches"), "\(agent.text)\(second.text)")
            #expect(await second.waitForState("terminated", of: "default/small"), "\(second.text)")

            let verification = try await system.verify([])
            #expect(verification.status == 0, "\(verification.text)")
            let accepted = try count(in: outbox, "SELECT seq FROM sqlite_sequence")
            #expect(try reader.devices().first?.samples == Int64(accepted * 10))
        }
    }

    private func batches(in outbox: String) throws -> Int { try count(in: outbox, "SELECT count(*) FROM batches") }

    private func count(in outbox: String, _ query: String) throws -> Int {
        let database = try SQLiteDatabase(path: outbox, mode: .readOnly)
        return Int(try database.integer(query))
    }
}
