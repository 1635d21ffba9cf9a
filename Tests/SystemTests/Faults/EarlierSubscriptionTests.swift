import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

/// A broker keeps the subscriptions of a session when its client is started with other settings.
@Suite(
    "Subscriptions of earlier settings", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct EarlierSubscriptionTests {
    private static let log = ["log_type unsubscribe", "log_type subscribe"]

    private static func topic(_ group: String) -> String { "lockstep/\(group)/pi/motion/accelerometer" }

    private static func batch(_ seq: Int) -> String {
        #"{"v":1,"epoch":"e1","seq":\#(seq),"t":\#(1_700_000_000_000_000 + seq),"x":[1],"y":[2],"z":[3]}"#
    }

    private static func isAcknowledgement(of group: String, _ message: TestClient.Message) -> Bool {
        message.topic == "lockstep/\(group)/pi/ack"
    }

    @Test(
        "a collector restarted with other groups and another root neither stores nor acknowledges what is not its own")
    func collector() async throws {
        try await withSystem(brokerSettings: Self.log) { system in
            let first = try system.startCollector()
            try await system.waitForSubscription()
            await first.stop()
            // The broker keeps this for the session.
            let client = try await system.connect()
            #expect(await client.publish(Self.topic("south"), Self.batch(1)))

            let second = try system.startCollector(["--group", "north"])
            #expect(await second.waitForOutput("messages outside of the root and groups"), "\(second.text)")
            await expectEventually(system.broker.text) {
                system.broker.text.contains("lockstep-collector-main lockstep/south/#")
            }
            #expect(await client.publish(Self.topic("south"), Self.batch(2)))
            #expect(await client.publish(Self.topic("north"), Self.batch(1)))
            await client.expectMessage { Self.isAcknowledgement(of: "north", $0) }
            await second.stop()

            let third = try system.startCollector(["--root", "other"])
            #expect(await third.waitForOutput("connected to broker"), "\(third.text)")
            #expect(await client.publish(Self.topic("north"), Self.batch(2)))
            #expect(await client.publish("other/north/pi/motion/accelerometer", Self.batch(1)))
            await expectEventually(third.text) {
                third.text.contains("messages outside")
                    && system.broker.text.contains(
                        "lockstep-collector-main lockstep/north/#")
            }
            await third.stop()
            #expect(!client.messages.contains { Self.isAcknowledgement(of: "south", $0) })
            let reader = try await system.reader()
            #expect(try reader.devices().map(\.address.description) == ["north/pi"])
        }
    }

    @Test("a gateway restarted with other topics ends the subscriptions to the earlier ones")
    func gateway() async throws {
        try await withSystem(brokerSettings: Self.log) { system in
            func start(_ topic: String) async throws {
                let gateway = try system.start(
                    "lockstep-gateway",
                    [
                        "--broker", system.broker.url, "--outbox", "\(system.folder)/gateway.outbox", "--senml-topic",
                        topic,
                    ])
                #expect(await gateway.waitForOutput("connected to broker"), "\(gateway.text)")
                await gateway.stop()
            }
            try await start("first")
            try await start("second")
            // A line for a subscription also has its quality of service.
            await expectEventually(system.broker.text) {
                ["first", "first/+"].allSatisfy { system.broker.text.contains("lockstep-gateway-main \($0)\n") }
            }
            #expect(!system.broker.text.contains("lockstep-gateway-main second\n"))
        }
    }
}
