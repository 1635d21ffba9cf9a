import Foundation
import LockstepTestSupport
import Testing

@Suite("Two agents with one device id", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct SharedDeviceTests {
    @Test("two agents with one device id report it, take turns, and all samples of both are stored")
    func both() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            // Different streams, because samples of both at the same time would be conflicts.
            let first = try system.startAgent("walker", only("motion/accelerometer"))
            #expect(await first.waitForOutput("connected to"))
            let other = system.outbox(of: "other")
            let broker = system.broker.url
            func diagnose() async throws -> String {
                try await RunningProgram.run(
                    Programs.built("lockstep"), ["doctor", "--broker", broker, "--seconds", "20"]
                ).text
            }
            async let doctor = diagnose()
            let second = try system.startAgent("walker", only("motion/gyroscope") + ["--outbox", other])
            #expect(await second.waitForOutput("connected to"))
            await expectEventually("\(first.text)\(second.text)", within: .seconds(120)) {
                (first.text + second.text).contains("another agent uses the same device id")
            }
            let connections = (first.text + second.text).components(separatedBy: "connected to").count - 1
            #expect(connections < 20, "they keep disconnecting each other: \(first.text)\(second.text)")
            // It sees batches of both in turn, or only that the agents report it. On a loaded machine, they may take no turn
            // while it listens.
            func isReported(_ diagnosis: String) -> Bool {
                diagnosis.contains("more than one agent uses this name")
                    || diagnosis.contains("another agent uses the same device id")
            }
            var diagnosis = try await doctor
            for _ in 1...3 where !isReported(diagnosis) { diagnosis = try await diagnose() }
            #expect(isReported(diagnosis), "\(diagnosis)")
            await first.stop()
            await second.stop()

            for outbox in [system.outbox(of: "walker"), other] {
                try await system.drain("walker", outbox: outbox)
                let verification = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["verify", "--store", "sqlite:\(system.storePath)", "--journal", "walker=\(outbox)"])
                #expect(verification.status == 0, "\(verification.text)")
            }
        }
    }

    /// Options with which an agent publishes only one stream.
    private func only(_ stream: String) -> [String] {
        [
            "motion/accelerometer", "motion/gyroscope", "motion/magnetometer", "motion/device", "steps", "location",
            "orientation", "floors", "activity",
        ].filter { $0 != stream }.flatMap { ["--rate", "\($0)=off"] }
    }
}
