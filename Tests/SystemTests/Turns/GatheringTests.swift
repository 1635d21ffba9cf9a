import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepCollector

@Suite(
    "A turn that gathers messages",
    .enabled(
        if: Programs.isInstalled("mosquitto") && Programs.isInstalled("mosquitto_pub"),
        "mosquitto or mosquitto_pub is not installed"))
struct GatheringTests {
    @Test("messages that arrive in the pauses of a turn are committed together")
    func later() async throws {
        try await withSystem { system in
            var configuration = CollectorConfiguration(
                id: try CollectorID(validating: "lull"), broker: system.broker.address)
            configuration.turn = TurnLimits(duration: .seconds(60), gathering: .seconds(30), pause: .seconds(5))
            let client = try await system.connect(["lockstep/+/$collector/lull"])
            try await CommitLog.of(configuration, store: system.storePath) { log in
                await client.expectMessage { _ in true }
                let messages = SampleMessages(collector: "lull", port: system.broker.port)
                try await messages.publish(1...200)
                try await messages.publish(201...400)
                await expectEventually { log.batches == 400 }
                #expect(log.commits.count == 1)
            }
        }
    }
}
