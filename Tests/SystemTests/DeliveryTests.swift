import Foundation
import LockstepMQTT
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

private let needsBroker = ConditionTrait.enabled(
    if: Programs.isInstalled("mosquitto"), "mosquitto is not installed")

@Suite("Delivery", needsBroker)
struct DeliveryTests {
    @Test("an agent that is killed while the broker is down delivers everything after its restart")
    func killedWithoutBroker() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let first = try system.startAgent("walker")
            #expect(await collector.waitForState("active", of: "default/walker"))
            await system.broker.stop(SIGKILL)
            #expect(await first.waitForOutput("samples kept in outbox"))
            try await waitForJournal(of: "walker", beyond: 20, in: system)
            await first.stop(SIGKILL)
            try await system.broker.start()
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }

    @Test("a collector that is killed between receipt and commit receives the messages again")
    func killedBeforeCommit() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            let reader = try await system.reader()
            try await system.waitForSubscription()
            // Holding the write lock stops the collector between receipt and commit.
            let lock = try SQLiteDatabase(path: system.storePath, mode: .readWrite)
            try lock.execute("BEGIN IMMEDIATE")
            let client = try await system.connect()
            for index in 0..<50 {
                #expect(
                    await client.publish(
                        "lockstep/default/hand/motion/accelerometer",
                        #"{"v":1,"epoch":"e","seq":\#(index + 1),"t":\#(1_700_000_000_000_000 + index),"x":[0],"y":[0],"z":[-1]}"#
                    ))
            }
            #expect(await acknowledgedCount(client) == 0, "acknowledged before the commit")
            await first.stop(SIGKILL)
            try lock.execute("ROLLBACK")
            #expect(try reader.devices().isEmpty)

            let second = try system.startCollector()
            try await expectEventually(second.text) { try reader.devices().first?.samples == 50 }
            let ack = await client.waitForMessage { $0.topic.hasSuffix("/ack") && $0.text.contains(#""through":50"#) }
            #expect(ack != nil)
        }
    }

    @Test("batches that a broker without persistence loses are reported as missing and re-sent")
    func lostInBroker() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let agent = try system.startAgent("walker")
            #expect(await collector.waitForState("active", of: "default/walker"))
            // The broker queues batches while the collector is down, and then loses them.
            await collector.stop(SIGKILL)
            try await waitForJournal(of: "walker", beyond: 40, in: system)
            await system.broker.stop(SIGKILL)
            try await system.broker.start()
            _ = try system.startCollector()
            // The agent is still running: a live batch after the lost ones reveals the gap.
            let reader = try await system.reader()
            let before = try reader.verification().first?.epochs.first?.received.last ?? 0
            try await expectEventually("\(agent.text)", within: .seconds(120)) {
                let received = try reader.verification().first?.epochs.first?.received
                return (received?.watermark ?? 0) > before + 40
            }
            await agent.stop()
            try await system.drain("walker")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }

    private func waitForJournal(of device: String, beyond count: Int64, in system: TestSystem) async throws {
        let path = system.outbox(of: device)
        let before = try SQLiteDatabase(path: path, mode: .readOnly).integer("SELECT count(*) FROM journal")
        try await expectEventually(within: .seconds(120)) {
            try SQLiteDatabase(path: path, mode: .readOnly).integer("SELECT count(*) FROM journal") > before + count
        }
    }

    private func acknowledgedCount(_ client: TestClient) async -> Int {
        client.messages.count { $0.topic.hasSuffix("/ack") }
    }
}
