import Foundation
import LockstepMQTT
import LockstepTestSupport
import Testing

/// Authenticated clients may only read and write their own topics.
@Suite(
    "Access rules of the production broker",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct ForeignTopicTests {
    @Test("a device can read only its own ack and command")
    func reading() async throws {
        try await withSecureBroker { broker in
            let device = try await broker.connect(as: "lab/walker", ["lockstep/#"])
            let collector = try await broker.connect(as: "collector", ["lockstep/lab/+/presence"])
            let boss = try await broker.connect(as: "operator", ["lockstep/lab/+/presence"])
            for name in ["ant", "walker"] {
                #expect(await boss.publish("lockstep/lab/\(name)/command", "{}"))
                #expect(await collector.publish("lockstep/lab/\(name)/state", "{}"))
                #expect(await collector.publish("lockstep/lab/\(name)/ack", "{}"))
            }
            let own = ["lockstep/lab/walker/command", "lockstep/lab/walker/ack"]
            await device.expectMessage(within: .seconds(120)) { $0.topic == own.last }
            #expect(device.messages.map(\.topic) == own)
        }
    }

    @Test("two lines in the rules revoke all rights of a lost device")
    func lostDevice() async throws {
        try await withSecureBroker { broker in
            let reader = try await broker.connect(as: "reader")
            let device = try await broker.connect(as: "lab/walker", ["lockstep/lab/walker/ack"])
            #expect(await device.publish("lockstep/lab/walker/steps", "before"))
            await reader.expectMessage(within: .seconds(120)) { $0.text == "before" }
            let rules = broker.credentials.folder + "/production.acl"
            let text = try String(contentsOfFile: rules, encoding: .utf8)
            try (text + "user lab/walker\ntopic deny #\n").write(toFile: rules, atomically: true, encoding: .utf8)
            broker.broker?.signal(SIGHUP)
            await expectEventually("\(broker.broker?.text ?? "")", within: .seconds(120)) {
                #expect(await device.publish("lockstep/lab/walker/steps", "after"))
                return !device.refusals.isEmpty
            }
        }
    }

    @Test("an agent with the device id of another user reports the refusal, and its last will is not published")
    func foreignDeviceID() async throws {
        try await withSecureBroker { broker in
            let reader = try await broker.connect(as: "reader")
            let agent = try broker.startAgent("ant", as: "lab/walker")
            #expect(
                await agent.waitForOutput("message refused", within: .seconds(120)), "\(agent.text)")
            await agent.stop(SIGKILL)
            await expectEventually(within: .seconds(120)) {
                broker.broker?.text.contains("lockstep-agent-lab-ant closed its connection") == true
            }
            let walker = try await broker.connect(as: "lab/walker", ["lockstep/lab/walker/ack"])
            #expect(await walker.publish("lockstep/lab/walker/steps", "x"))
            await reader.expectMessage(within: .seconds(120)) { $0.topic == "lockstep/lab/walker/steps" }
            #expect(reader.messages.map(\.topic) == ["lockstep/lab/walker/steps"])
        }
    }
}
