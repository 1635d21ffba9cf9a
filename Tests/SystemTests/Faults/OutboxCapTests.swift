import Foundation
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "An outage that exceeds the outbox size",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct OutboxCapTests {
    @Test("dropped samples are reported by agent, collector, doctor, verify and the list of devices, and are no gap")
    func reported() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let agent = try system.startAgent("walker", ["--outbox-size", "24K"])
            #expect(await collector.waitForState("active", of: "default/walker"))
            await system.broker.stop(SIGKILL)
            #expect(await agent.waitForOutput("samples dropped", within: .seconds(120)), "\(agent.text)")
            try await system.broker.start()

            let client = try await system.connect()
            await client.expectMessage(within: .seconds(120)) {
                $0.topic.hasSuffix("/walker/presence") && $0.text.contains(#""dropped_samples":"#)
            }
            let health = await client.waitForMessage(within: .seconds(120)) {
                $0.topic.hasSuffix("/$collector/main") && droppedSamples(in: $0.payload) > 0
            }
            #expect(health != nil)
            let reader = try await system.reader()
            try await expectEventually(within: .seconds(120)) {
                try reader.devices().first.map { $0.missing + $0.onItsWay } == 0
            }

            let verification = try await system.verify(["walker"])
            #expect(verification.status == 1 && verification.text.contains("dropped"), "\(verification.text)")
            let list = try await RunningProgram.run(
                Programs.built("lockstep"), ["devices", "--store", "sqlite:\(system.storePath)", "--json"])
            #expect(!list.text.contains(#""dropped":0"#), "\(list.text)")
            let doctor = try await RunningProgram.run(
                Programs.built("lockstep"), ["doctor", "--broker", system.broker.url, "--seconds", "1"])
            #expect(doctor.status == 1)
            #expect(doctor.text.contains("outbox limit reached, "), "\(doctor.text)")
        }
    }

    private func droppedSamples(in payload: [UInt8]) -> Int {
        let object = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        return object?["dropped"] as? Int ?? 0
    }
}
