import Foundation
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@Suite("The development broker", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct DevelopmentBrokerTests {
    @Test("the development broker delivers from an agent to the collector")
    func delivers() async throws {
        try await withSystem { system in
            let port = try freePort()
            let configuration = system.folder + "/development.conf"
            let text = try String(contentsOfFile: Programs.source("broker-config/development.conf"), encoding: .utf8)
                .replacing("listener 1883 127.0.0.1", with: "user root\nlistener \(port) 127.0.0.1")
                .replacing("# persistence_location /var/lib/mosquitto", with: "persistence_location \(system.folder)/")
            try text.write(toFile: configuration, atomically: true, encoding: .utf8)
            let broker = try RunningProgram(Programs.installed("mosquitto") ?? "", ["-c", configuration])
            await expectEventually("\(broker.text)", within: .seconds(120)) { canConnect(port: port) }
            let url = "mqtt://127.0.0.1:\(port)"
            let collector = try system.startCollector(url: url)
            #expect(await collector.waitForOutput("connected to", within: .seconds(120)), "\(collector.text)")
            let agent = try system.startAgent("walker", url: url)
            #expect(
                await collector.waitForState("active", of: "default/walker", within: .seconds(120)), "\(collector.text)"
            )
            await agent.stop()
            #expect(await collector.waitForState("terminated", within: .seconds(120)), "\(collector.text)")
            let verification = try await system.verify(["walker"])
            #expect(verification.status == 0, "\(verification.text)")
            await broker.stop()
        }
    }

    @Test(
        "over WebSockets on the loopback interface only, the JavaScript reader decodes JSON and CBOR",
        .enabled(if: Self.nodeHasWebSockets, "nodejs or node-ws is not installed"))
    func webSockets() async throws {
        try await withSystem { system in
            let (port, webPort) = (try freePort(), try freePort())
            let configuration = system.folder + "/development.conf"
            try String(contentsOfFile: Programs.source("broker-config/development.conf"), encoding: .utf8)
                .replacing("listener 1883 127.0.0.1", with: "user root\nlistener \(port) 127.0.0.1")
                .replacing("#listener 8083", with: "listener \(webPort)").replacing("#protocol", with: "protocol")
                .replacing("#socket_domain", with: "socket_domain")
                .replacing("# persistence_location /var/lib/mosquitto", with: "persistence_location \(system.folder)/")
                .write(toFile: configuration, atomically: true, encoding: .utf8)
            let broker = try RunningProgram(Programs.installed("mosquitto") ?? "", ["-c", configuration])
            await expectEventually("\(broker.text)", within: .seconds(60)) { canConnect(port: webPort) }
            let hexadecimal = String(webPort, radix: 16, uppercase: true)
            for (file, count) in [("tcp", 1), ("tcp6", 0)] {
                let listening = try String(contentsOfFile: "/proc/net/\(file)", encoding: .utf8).split(separator: "\n")
                    .filter { $0.contains(":\(hexadecimal) ") && $0.contains(" 0A ") }
                #expect(listening.count == count && listening.allSatisfy { $0.contains(" 0100007F:") }, "\(listening)")
            }
            let reader = try RunningProgram(
                Programs.installed("node") ?? "",
                [
                    Programs.source("deploy/examples/read_mqtt.mjs"), "ws://127.0.0.1:\(webPort)",
                    "lockstep/+/+/motion/accelerometer",
                ], environment: ["NODE_PATH": "/usr/share/nodejs"])
            let client = TestClient(
                BrokerAddress(host: "127.0.0.1", port: port), filters: ["lockstep/+/+/motion/accelerometer"])
            #expect(await client.waitUntilListening())
            // A text, such as that of a marker, does not end the reader.
            #expect(await client.publish("lockstep/default/plain/motion/accelerometer", "turn".utf8))
            for (device, encoding) in [("plain", "json"), ("packed", "cbor")] {
                _ = try system.startAgent(device, ["--encoding", encoding], url: "mqtt://127.0.0.1:\(port)")
            }
            for device in ["plain", "packed"] {
                let topic = "lockstep/default/\(device)/motion/accelerometer"
                var common = 0
                await expectEventually("\(reader.text.suffix(2000))") {
                    let ours = client.messages.filter { $0.topic == topic }.compactMap {
                        try? BatchEncoding.decode(Data($0.payload), stream: .accelerometer)
                    }
                    let theirs = reader.text.split(separator: "\n").filter { $0.hasPrefix("\(topic) {") }.compactMap {
                        try? BatchJSON.decode(Data($0.utf8.dropFirst(topic.utf8.count + 1)), stream: .accelerometer)
                    }
                    common = theirs.filter { ours.contains($0) }.count
                    return common > 2
                        && theirs.allSatisfy { batch in
                            ours.contains(batch) || !ours.contains { $0.position == batch.position }
                        }
                }
            }
            await broker.stop()
        }
    }

    /// Node.js from version 22 on has WebSockets, and earlier ones with the package node-ws.
    private static var nodeHasWebSockets: Bool {
        guard let node = Programs.installed("node") else { return false }
        let check = ["-e", "globalThis.WebSocket ?? require('ws')"]
        return (try? RunningProgram(node, check, environment: ["NODE_PATH": "/usr/share/nodejs"]))?.waitForEnd() == 0
    }
}
