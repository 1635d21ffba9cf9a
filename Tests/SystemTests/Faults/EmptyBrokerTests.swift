import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "A broker restarted empty", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct EmptyBrokerTests {
    @Test("presence and states are published again to a broker that was restarted empty, and no sample is lost")
    func restarted() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            let walker = try system.startAgent("walker")
            let gone = try system.startAgent("gone", source: "simulate:2")
            #expect(await collector.waitForState("active", of: "default/walker"))
            #expect(await collector.waitForState("active", of: "default/gone"))
            for program in [collector, walker] { #expect(program.text.contains("mqtt=5"), "\(program.text)") }
            await gone.stop()
            #expect(await collector.waitForState("terminated", of: "default/gone", from: "active"))
            let reader = try await system.reader()
            let before = try samples(of: "walker", reader)

            await system.broker.stop(SIGKILL)
            try await system.broker.start()

            // A new client receives the state of every device, including the terminated one.
            let client = try await system.connect()
            for (topic, part) in [
                ("walker/presence", #""phase":"foreground""#), ("walker/state", #""state":"active""#),
                ("gone/state", #""state":"terminated""#), ("walker/ack", #""through""#),
                ("$collector/main", #""status":"online""#),
            ] {
                await client.expectMessage(within: .seconds(120)) {
                    $0.topic == "lockstep/default/" + topic && $0.text.contains(part)
                }
            }
            try await expectEventually(within: .seconds(120)) { try samples(of: "walker", reader) > before + 100 }
            await walker.stop()
            try await system.drain("walker")
            try await system.drain("gone")
            let verification = try await system.verify(["walker", "gone"])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }

    private func samples(of device: String, _ reader: StoreReader) throws -> Int64 {
        try reader.devices().first { $0.address.device.rawValue == device }?.samples ?? 0
    }
}
