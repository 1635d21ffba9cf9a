import Foundation
import LockstepTestSupport
import Testing

@Suite(
    "A disk of an agent that turns read-only",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ReadOnlyOutboxTests {
    @Test("is reported in the presence, by doctor and by a rule, and the agent goes on when the disk returns")
    func readOnly() async throws {
        try await withSystem { system in
            let rules = system.folder + "/rules.yaml"
            try "targets: {bus: {mqtt: event}}\nrules: {quiet: {when: {silence: any, for: 3s}, to: bus}}".write(
                toFile: rules, atomically: true, encoding: .utf8)
            let collector = try system.startCollector(["--rules", rules])
            let disk = try ReadOnlyDisk(
                database: system.outbox(of: "walker"), library: try await TestDisk.compile(in: system.folder))
            let agent = try system.startAgent("walker", environment: disk.environment)
            #expect(await collector.waitForState("active", of: "default/walker"), "\(collector.text)")
            let client = try await system.connect(["lockstep/default/walker/presence", "lockstep/default/walker/event"])

            try disk.set(isReadOnly: true)
            await client.expectMessage { $0.topic.hasSuffix("/presence") && $0.text.contains(#""problem":"#) }
            let doctor = try await RunningProgram.run(
                Programs.built("lockstep"), ["doctor", "--broker", system.broker.url, "--seconds", "1"])
            #expect(doctor.status == 1 && doctor.text.contains("outbox"), "\(doctor.text)")
            await client.expectMessage { $0.topic.hasSuffix("/event") && $0.text.contains(#""rule":"quiet""#) }

            #expect(!collector.text.contains("to=background"), "\(collector.text)")
            // A new client, whose first message has the problem.
            let observer = try await system.connect(["lockstep/default/walker/presence"])
            await observer.expectMessage { $0.isRetained && $0.text.contains(#""problem":"#) }
            try disk.set(isReadOnly: false)
            await observer.expectMessage { !$0.isRetained && !$0.text.contains(#""problem":"#) }
            await agent.stop()
            #expect(!agent.text.contains("samples lost"), "\(agent.text)")
            try await system.drain("walker")
            let verified = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["verify", "--store", "sqlite:\(system.storePath)", "--journal", system.outbox(of: "walker")])
            #expect(verified.status == 0, "\(verified.text)")
        }
    }
}
