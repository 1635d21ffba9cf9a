import Foundation
import LockstepModel
import LockstepTestSupport
import Logging
import ServiceLifecycle
import Testing

@testable import LockstepGateway

private let needsBroker = ConditionTrait.enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed")
private let python = ProcessInfo.processInfo.environment["LOCKSTEP_HOME_ASSISTANT_PYTHON"]

/// Home Assistant as a program, and the last states that its REST API has returned.
private struct HomeAssistant {
    struct State: Decodable {
        var state: String
        var attributes: Attributes
    }

    struct Attributes: Decodable {
        var latitude: Double?
        var longitude: Double?
        var accuracy: Double?
        var options: [String]?
        var source: String?

        enum CodingKeys: String, CodingKey {
            case latitude, longitude, options
            case accuracy = "gps_accuracy"
            case source = "source_type"
        }
    }

    let program: RunningProgram

    init(folder: String, broker: TestBroker) throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "home_assistant.py")
        program = try RunningProgram(
            try #require(python), [script.path, folder, "\(broker.port)", "\(try freePort())"])
    }

    /// The last states, without those of Home Assistant itself.
    var states: [String: State] {
        let lines = program.text.split(separator: "\n").filter { $0.hasPrefix("{") }
        let last = lines.last { $0.hasSuffix("}") }
        return last.flatMap { try? JSONDecoder().decode([String: State].self, from: Data($0.utf8)) } ?? [:]
    }

    func expect(
        _ entity: String, _ state: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await expectEventually(
            "\(entity) is \(states[entity]?.state ?? "missing"); \(program.text.suffix(3000))",
            sourceLocation: sourceLocation
        ) { states[entity]?.state == state }
    }
}

/// Calls `body` with a broker, a client, and a bridge in this process.
private func withBridge(
    _ change: (inout HomeAssistantConfiguration) -> Void = { _ in },
    _ body: (TestBroker, TestClient) async throws -> Void
) async throws {
    try await withBroker { broker in
        let client = TestClient(broker.address, filters: ["homeassistant/#", "lockstep-ha/#"])
        #expect(await client.waitUntilListening())
        var configuration = HomeAssistantConfiguration(broker: broker.address, clientID: "bridge")
        configuration.interval = 100_000
        change(&configuration)
        let bridge = HomeAssistantBridge(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let task = Task { await bridge.run() }
        do { try await body(broker, client) } catch {
            task.cancel()
            await task.value
            throw error
        }
        task.cancel()
        await task.value
    }
}

private func now() -> Int64 { Moment.now().wall.microseconds }

extension TestClient {
    fileprivate func publishState(_ state: String, of device: String, seq: Int = 1, reason: String = "settled") async {
        #expect(
            await publish(
                "lockstep/\(device)/state",
                #"{"state":"\#(state)","since":\#(now()),"reason":"\#(reason)","seq":\#(seq)}"#, isRetained: true))
    }

    fileprivate func publishSamples(_ stream: String, of device: String, seq: Int, _ columns: String) async {
        #expect(
            await publish(
                "lockstep/\(device)/\(stream)", #"{"v":1,"epoch":"e1","seq":\#(seq),\#(columns)}"#))
    }

    /// The last payload on a topic, or nil if there is none.
    fileprivate func last(_ topic: String) -> String? { messages.last { $0.topic == topic }?.text }
}

@Suite("Home Assistant")
struct HomeAssistantTests {
    @Test(
        "a running Home Assistant shows a device with position, battery, steps and states, and removes it",
        .enabled(if: python != nil, "Home Assistant is not installed"), needsBroker)
    func running() async throws {
        try await withTemporaryFolder { folder in
            try await withBridge { broker, client in
                await client.publishState("active", of: "site/phone.1")
                var home = try HomeAssistant(folder: folder, broker: broker)
                await home.expect("sensor.phone_1_state", "active")
                let start = now()
                await client.publishSamples(
                    "location", of: "site/phone.1", seq: 1,
                    #""t":\#(start),"lat":[50.25],"lon":[8.5],"hacc":[12.2],"speed":[1.5]"#)
                await client.publishSamples(
                    "battery", of: "site/phone.1", seq: 2, #""t":\#(start),"level":[0.87],"state":["charging"]"#)
                await client.publishSamples(
                    "steps", of: "site/phone.1", seq: 3,
                    #""t":\#(start),"start":[\#(start - 10_000_000)],"steps":[12],"distance":[9.5]"#)
                await client.publishSamples(
                    "floors", of: "site/phone.1", seq: 4,
                    #""t":\#(start),"start":[\#(start - 10_000_000)],"ascended":[2],"descended":[0]"#)
                await home.expect("sensor.phone_1_battery", "87")
                await home.expect("binary_sensor.phone_1_charging", "on")
                await home.expect("sensor.phone_1_steps", "12")
                await home.expect("sensor.phone_1_distance", "9.5")
                await home.expect("sensor.phone_1_floors_ascended", "2")
                await home.expect("sensor.phone_1_floors_descended", "0")
                await home.expect("binary_sensor.phone_1_moving", "on")
                await home.expect("binary_sensor.phone_1_connected", "on")
                let tracker = try #require(home.states["device_tracker.phone_1_location"])
                #expect(tracker.state == "not_home")
                #expect(tracker.attributes.latitude == 50.25)
                #expect(tracker.attributes.longitude == 8.5)
                #expect(tracker.attributes.accuracy == 13)
                #expect(tracker.attributes.source == "gps")
                #expect(home.states["sensor.phone_1_state"]?.attributes.options?.count == 5)

                // After a restart of Home Assistant, the retained messages restore everything.
                await home.program.stop()
                home = try HomeAssistant(folder: folder, broker: broker)
                await home.expect("sensor.phone_1_battery", "87")
                await home.expect("sensor.phone_1_steps", "12")

                await client.publishState("terminated", of: "site/phone.1", seq: 2, reason: "terminated")
                await home.expect("sensor.phone_1_state", "terminated")
                await home.expect("binary_sensor.phone_1_connected", "off")
                await home.expect("sensor.phone_1_battery", "unavailable")

                #expect(await client.publish("lockstep/site/phone.1/state", "", isRetained: true))
                await expectEventually(String(home.program.text.suffix(2000))) {
                    !home.states.isEmpty && !home.states.keys.contains { $0.contains("phone_1") }
                }
                await home.program.stop()
                let problems = ["Traceback", "Error"].filter { home.program.text.contains($0) }
                #expect(problems.isEmpty, "\(home.program.text.suffix(5000))")
            }
        }
    }

    @Test("the birth message of Home Assistant lets discovery and states be published again", needsBroker)
    func birth() async throws {
        try await withBridge { _, client in
            await client.publishState("active", of: "site/a")
            let config = "homeassistant/device/lockstep_site__a/config"
            await expectEventually { client.last("lockstep-ha/site/a/state") != nil }
            func count(_ topic: String) -> Int { client.messages.filter { $0.topic == topic }.count }
            let before = (count(config), count("lockstep-ha/site/a/state"))
            #expect(await client.publish("homeassistant/status", "online"))
            await expectEventually {
                count(config) == before.0 + 1 && count("lockstep-ha/site/a/state") == before.1 + 1
            }
        }
    }

    @Test(
        "a device whose state and presence are deleted is removed, also if that happened while the bridge was down",
        needsBroker)
    func removal() async throws {
        try await withBridge({ $0.removalDelay = 300_000 }) { _, client in
            let stale = "homeassistant/device/lockstep_site__gone/config"
            let foreign = "homeassistant/device/other/config"
            await client.publishState("active", of: "site/a")
            let config = "homeassistant/device/lockstep_site__a/config"
            await expectEventually { client.last(config)?.isEmpty == false }
            #expect(await client.publish("lockstep/site/a/state", "", isRetained: true))
            await expectEventually { client.last(config) == "" && client.last("lockstep-ha/site/a/state") == "" }
            #expect(client.last(stale) == nil)
            #expect(client.last(foreign) == nil)
        }
        try await withBroker { broker in
            let client = TestClient(broker.address, filters: ["homeassistant/#", "lockstep-ha/#"])
            #expect(await client.waitUntilListening())
            #expect(await client.publish("lockstep-ha/site/gone/location", "{}", isRetained: true))
            let stale = "homeassistant/device/lockstep_site__gone/config"
            let others = ["homeassistant/device/lockstep_x__y/config", "homeassistant/device/other/config"]
            #expect(
                await client.publish(stale, #"{"availability":[{"topic":"lockstep-ha/bridge"}]}"#, isRetained: true))
            #expect(await client.publish(others[0], #"{"availability":[{"topic":"else/bridge"}]}"#, isRetained: true))
            #expect(await client.publish(others[1], #"{"a":[{"topic":"lockstep-ha/bridge"}]}"#, isRetained: true))
            await client.publishState("active", of: "site/here")
            var configuration = HomeAssistantConfiguration(broker: broker.address, clientID: "bridge")
            configuration.removalDelay = 300_000
            let bridge = HomeAssistantBridge(
                configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let task = Task { await bridge.run() }
            await expectEventually {
                client.last(stale) == "" && client.last("lockstep-ha/site/gone/location") == ""
            }
            #expect(others.allSatisfy { client.last($0) != "" })
            #expect(client.last("homeassistant/device/lockstep_site__here/config") != "")
            task.cancel()
            await task.value
        }
    }

    @Test("when the bridge stops, all devices become unavailable", needsBroker)
    func stop() async throws {
        try await withBroker { broker in
            let client = TestClient(broker.address, filters: ["lockstep-ha/#"])
            #expect(await client.waitUntilListening())
            let bridge = HomeAssistantBridge(
                HomeAssistantConfiguration(broker: broker.address, clientID: "bridge"),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let task = Task { await bridge.run() }
            await expectEventually { client.last("lockstep-ha/bridge") == "online" }
            task.cancel()
            await task.value
            await expectEventually { client.last("lockstep-ha/bridge") == "offline" }
        }
    }
}
