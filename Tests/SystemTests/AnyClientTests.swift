import Foundation
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Any MQTT client", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct AnyClientTests {
    @Test(
        "samples published with mosquitto_pub are stored",
        .enabled(if: Programs.isInstalled("mosquitto_pub"), "mosquitto-clients is not installed"))
    func publishedByHand() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let payload =
                #"{"v":1,"t":1700000000000000,"dt":[20000,30000],"x":[0.1,0.2,0.3],"y":[0,0,0],"z":[-1,-1,-1]}"#
            let published = try await RunningProgram.run(
                Programs.installed("mosquitto_pub") ?? "",
                [
                    "-p", "\(system.broker.port)", "-q", "1", "-t", "lockstep/lab/by-hand/motion/accelerometer", "-m",
                    payload,
                ])
            #expect(published.status == 0)
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().first?.samples == 3 }
            var rows: [[Double]] = []
            try reader.query(stream: .accelerometer) { row in
                rows.append([Double(row.time.microseconds)] + row.values)
            }
            #expect(
                rows == [
                    [1_700_000_000_000_000, 0.1, 0, -1], [1_700_000_000_020_000, 0.2, 0, -1],
                    [1_700_000_000_050_000, 0.3, 0, -1],
                ])
        }
    }

    @Test(
        "paho-mqtt reads batches, presence and state",
        .enabled(if: Programs.pythonHas("paho.mqtt.client"), "python3-paho-mqtt is not installed"))
    func paho() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("connected to"))
            _ = try system.startAgent("walker")
            let script = """
                import json, sys
                import paho.mqtt.client as mqtt
                wanted = {"motion/accelerometer", "presence", "state", "ack"}
                def on_message(client, userdata, message):
                    channel = message.topic.split("/", 3)[3]
                    value = json.loads(message.payload)
                    if channel == "motion/accelerometer":
                        assert len(value["x"]) == len(value["y"]) == len(value["z"]), value
                        steps = value["dt"] if isinstance(value["dt"], list) else [value["dt"]] * (len(value["x"]) - 1)
                        assert len(steps) == len(value["x"]) - 1 and value["t"] > 1.6e15, value
                    if channel == "presence": assert value["phase"] == "foreground", value
                    if channel == "state": assert value["state"] == "active", value
                    if channel == "ack": assert value["through"] >= 1, value
                    wanted.discard(channel)
                    if not wanted: print("all read"); client.disconnect()
                client = mqtt.Client()
                client.on_message = on_message
                client.connect("127.0.0.1", \(system.broker.port))
                client.subscribe("lockstep/+/walker/#", 1)
                client.loop_forever()
                """
            let reading = try await RunningProgram.run(python, ["-c", script])
            #expect(reading.text.contains("all read"), "\(reading.text)")
        }
    }

    @Test(
        "agent and collector detect a broker that supports only MQTT 3.1.1",
        .enabled(if: Programs.isInstalled("nats-server"), "nats-server is not installed"))
    func nats() async throws {
        try await withSystem { system in
            let port = try freePort()
            let configuration = system.folder + "/nats.conf"
            try """
            listen: "127.0.0.1:\(try freePort())"
            server_name: test
            jetstream { store_dir: "\(system.folder)/nats" }
            mqtt { listen: "127.0.0.1:\(port)" }
            """.write(toFile: configuration, atomically: true, encoding: .utf8)
            let nats = try RunningProgram(Programs.installed("nats-server") ?? "", ["-c", configuration])
            await expectEventually("\(nats.text)") { canConnect(port: port) }
            let url = "mqtt://127.0.0.1:\(port)"
            let collector = try system.startCollector(url: url)
            #expect(await collector.waitForOutput("connected to"), "\(collector.text)")
            // NATS accepts dots since version 2.10 in topics, but not in client ids.
            let device = Programs.isNATSCurrent ? "left-foot.2" : "left-foot"
            let agent = try system.startAgent(device, url: url)
            #expect(await agent.waitForOutput("mqtt=3.1.1"), "\(agent.text)")
            #expect(await collector.waitForState("active", of: "default/\(device)"), "\(collector.text)")
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().first.map { $0.samples > 500 } ?? false }
            await agent.stop()
            #expect(await collector.waitForState("terminated"))
            let verification = try await system.verify([device])
            #expect(verification.status == 0, "\(verification.text)")
            await nats.stop()
        }
    }
}

private let python = Programs.installed("python3") ?? ""
