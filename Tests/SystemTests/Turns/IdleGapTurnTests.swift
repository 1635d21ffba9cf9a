import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepCollector

@Suite(
    "A turn with an idle gap",
    .enabled(
        if: Programs.isInstalled("mosquitto") && Programs.isInstalled("mosquitto_pub"),
        "mosquitto or mosquitto_pub is not installed"))
struct IdleGapTurnTests {
    @Test("a turn waits for messages after an idle gap and commits them together")
    func later() async throws {
        try await withSystem { system in
            var configuration = CollectorConfiguration(
                id: try CollectorID(validating: "lull"), broker: system.broker.address)
            configuration.turn = TurnLimits(
                burst: 1, idleGap: .seconds(5), totalIdleGap: .seconds(30), duration: .seconds(60))
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
