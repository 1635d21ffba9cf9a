import Foundation
import LockstepModel
import LockstepTestSupport
import Testing

@Suite("Refused samples", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct RefusedSamplesTests {
    @Test("an agent whose samples are in the future says why they are refused, and doctor names it")
    func future() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["lockstep/default/fut/#"])
            let recording = system.folder + "/future.csv"
            let later = Moment.now().wall.microseconds + 3 * 86_400_000_000
            let rows = (0..<5).map { "\(later + Int64($0) * 10_000),0,0,-1" }
            try Data((["t_us,x_g,y_g,z_g"] + rows).joined(separator: "\n").utf8).write(
                to: URL(fileURLWithPath: recording))
            let agent = try system.startAgent(
                "fut", source: "replay:\(recording)", ["--speed", "max", "--stamp", "own"])
            #expect(await agent.waitForOutput("collector refuses batches, kept in outbox"), "\(agent.text)")
            #expect(agent.text.contains("is in the future: check the clocks"), "\(agent.text)")
            await client.expectMessage { $0.topic.hasSuffix("/presence") && $0.text.contains(#""problem":"#) }
            await client.expectMessage { $0.topic.hasSuffix("/ack") && $0.text.contains(#""refused":"#) }
            // A retained refusal would hide the acknowledgement.
            let reader = try await system.connect(["lockstep/default/fut/ack", "lockstep/default/fut/presence"])
            await reader.expectMessage { $0.topic.hasSuffix("/presence") && $0.isRetained }
            #expect(!reader.messages.contains { $0.topic.hasSuffix("/ack") && $0.isRetained }, "\(reader.messages)")
            let doctor = try await RunningProgram.run(
                Programs.built("lockstep"), ["doctor", "--seconds", "1", "--broker", system.broker.url])
            #expect(
                doctor.text.contains("device default/fut")
                    && doctor.text.contains("a collector refuses its batches: sample time"),
                "\(doctor.text)")
            await agent.stop()
        }
    }
}
