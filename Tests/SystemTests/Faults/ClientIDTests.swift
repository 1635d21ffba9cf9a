import Foundation
import LockstepTestSupport
import Testing

@Suite(
    "Several clients with one id", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ClientIDTests {
    private static let warnings = ["another collector", "another agent"]

    @Test("a broker that is killed repeatedly is not mistaken for a second collector or agent")
    func killedBroker() async throws {
        // A persistent broker resumes sessions after a restart, as it does after a takeover.
        try await withSystem(isPersistent: true) { system in
            let collector = try system.startCollector(["--mqtt", "3.1.1"])
            let agent = try system.startAgent("walker", ["--mqtt", "3.1.1"])
            for connections in 1...4 {
                for program in [collector, agent] {
                    await expectEventually(program.text, within: .seconds(120)) {
                        program.text.components(separatedBy: "connected to").count > connections
                    }
                }
                await system.broker.stop(SIGKILL)
                // If the broker is back before a program has noticed, this looks as if another client had taken over.
                for (program, text) in [(collector, "connection to broker lost"), (agent, "connection lost")] {
                    await expectEventually(program.text, within: .seconds(120)) {
                        program.text.components(separatedBy: text).count > connections
                    }
                }
                try await system.broker.start()
            }
            for program in [collector, agent] { #expect(program.text.contains("mqtt=3.1.1"), "\(program.text)") }
            for warning in Self.warnings {
                #expect(!collector.text.contains(warning), "\(collector.text)")
                #expect(!agent.text.contains(warning), "\(agent.text)")
            }
        }
    }
}
