import Foundation
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Logging
import Testing

@Suite("SessionRecorder with a real collector")
struct SessionRecorderTests {
    /// Calls `body` with a recorder whose feed is running.
    private func withRecorder(_ broker: BrokerAddress, _ body: (SessionRecorder) async throws -> Void) async throws {
        let feed = LiveFeed(
            FeedConfiguration(broker: broker, clientID: "recorder-test"), logger: Logger(label: "recorder-test"))
        async let running: Void = feed.run()
        try await finally({ feed.stop() }) { try await body(SessionRecorder(feed)) }
        await running
    }

    @Test("a session is started before there is a connection, marked, followed to its end, and complete")
    func session() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let agent = try system.startAgent("left", source: "simulate:1")
            let client = try await system.connect()
            await client.expectMessage { $0.topic == "lockstep/default/left/motion/accelerometer" }
            try await withRecorder(system.broker.address) { recorder in
                let walk = try await recorder.start("walk 3") { session in
                    session.rates["motion/accelerometer"] = 200
                    session.labels["subject"] = "7"
                }
                #expect(walk.key.id.rawValue.hasPrefix("walk-3-") && walk.name == "walk 3")
                let states = recorder.updates(of: walk.key)
                async let seen = states.reduce(into: [RecordingSession.State]()) { states, session in
                    if states.last != session.state { states.append(session.state) }
                }
                for await session in recorder.updates(of: walk.key) where session.state == .recording { break }
                let marker = try await recorder.mark("turn", in: walk.key) { $0.value = 2 }
                let result = try await recorder.stop(walk.key)
                #expect(result.state == .complete && result.labels == ["subject": "7"], "\(result)")
                #expect(result.markers == [marker] && marker.value == 2)
                #expect(result.devices[DeviceID(unchecked: "left")]?.hasSamples == true)
                let stored = try #require(try await system.reader().sessions().first)
                #expect(stored.key == walk.key && stored.state == .complete && stored.markers == [marker])
                // A deleted session ends its updates.
                _ = await client.publish("lockstep/default/$session/\(walk.key.id)/delete", "{}")
                let order = await seen
                #expect(order.last == .complete && order.contains(.recording), "\(order)")
            }
            await agent.stop()
        }
    }

    @Test("without a collector, the error says what to check")
    func noCollector() async throws {
        try await withSystem { system in
            try await withRecorder(system.broker.address) { recorder in
                await #expect(throws: CommandError.notRecorded(group: "lab")) {
                    _ = try await recorder.start("walk", group: GroupID(unchecked: "lab"))
                }
            }
        }
    }
}
