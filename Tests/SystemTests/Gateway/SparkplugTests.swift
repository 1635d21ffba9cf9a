import Foundation
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import LockstepWire
import Testing

/// A Python with the package `pysparkplug`; nil if there is none.
private let python: String? = {
    guard let path = Programs.referencePython else { return nil }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().deletingLastPathComponent()
    let package = folder.appending(path: "sparkplug/pysparkplug/__init__.py").path
    return FileManager.default.fileExists(atPath: package) ? path : nil
}()

/// An edge node or a host application of pysparkplug.
private struct Peer {
    let program: RunningProgram
    private let commands: String

    init(_ system: TestSystem, _ role: String, _ arguments: [String] = []) throws {
        commands = "\(system.folder)/\(role)-\(UUID().uuidString)"
        try "".write(toFile: commands, atomically: true, encoding: .utf8)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "sparkplug_peer.py")
        program = try RunningProgram(
            try #require(python), [script.path, role, commands, "\(system.broker.port)"] + arguments)
    }

    func command(_ line: String) async throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: commands))
        try file.seekToEnd()
        try file.write(contentsOf: Data((line + "\n").utf8))
        try file.close()
        #expect(await program.waitForOutput("done " + line), "\(program.text)")
    }

    struct Message: Decodable {
        struct Metric: Decodable {
            var name: String?
            var alias: Int?
            var type: String
            var time: Int?
            var number: Double?
            var text: String?
            var null: Bool
            var historical: Bool

            private enum CodingKeys: String, CodingKey { case name, alias, type, time, number, text, null, historical }

            init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: CodingKeys.self)
                name = try values.decodeIfPresent(String.self, forKey: .name)
                alias = try values.decodeIfPresent(Int.self, forKey: .alias)
                type = try values.decode(String.self, forKey: .type)
                time = try values.decodeIfPresent(Int.self, forKey: .time)
                // Python prints booleans as such.
                number = (try? values.decodeIfPresent(Double.self, forKey: .number)) ?? nil
                text = try values.decodeIfPresent(String.self, forKey: .text)
                null = try values.decode(Bool.self, forKey: .null)
                historical = try values.decode(Bool.self, forKey: .historical)
            }
        }

        var topic: String
        var type: String
        var seq: Int?
        var device: String?
        var metrics: [Metric]

        func metric(_ name: String) -> Metric? { metrics.first { $0.name == name } }
    }

    /// The messages that a host application has printed.
    var messages: [Message] {
        program.text.split(separator: "\n").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
            .compactMap { try? JSONDecoder().decode(Message.self, from: Data($0.utf8)) }
    }
}

@Suite(
    "Sparkplug B against pysparkplug",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"),
    .enabled(if: python != nil, "Python with the package pysparkplug is missing: run deploy/check"))
struct SparkplugTests {
    private static let settings = """
        streams:
          x/oven:
            columns:
              temperature: { unit: °C }
              offset: { kind: integer, required: false }
          x/sparkplug/door:
            columns:
              value: { kind: integer }
        sparkplug:
          Temperature: x/oven.temperature
          Offset: { column: x/oven.offset, factor: 10, offset: 1 }
        """

    /// Writes the settings, and returns the options for them.
    private func options(_ system: TestSystem) throws -> [String] {
        let path = system.folder + "/gateway.yaml"
        try Self.settings.write(toFile: path, atomically: true, encoding: .utf8)
        return ["--config", path]
    }

    /// The settings of a collector: only the streams.
    private func collectorOptions(_ system: TestSystem) throws -> [String] {
        let path = system.folder + "/collector.yaml"
        let end = try #require(Self.settings.range(of: "sparkplug:\n  Temp"))
        try String(Self.settings[..<end.lowerBound]).write(toFile: path, atomically: true, encoding: .utf8)
        return ["--config", path]
    }

    private func integer(_ system: TestSystem, _ query: String) throws -> Int64 {
        try SQLiteDatabase(path: system.storePath, mode: .readOnly).integer(query)
    }

    @Test("values of a foreign edge node arrive in the store, with its births, deaths and gaps")
    func host() async throws {
        try await withSystem { system in
            let collector = try system.startCollector(try collectorOptions(system))
            try await system.waitForSubscription()
            let states = try await system.connect(["spBv1.0/STATE/#"])
            let edge = try Peer(system, "edge", ["plant", "line1"])
            do {
                #expect(await edge.program.waitForOutput("edge node started"), "\(edge.program.text)")
                let gateway = try system.startGateway(
                    try options(system) + ["--accept", "any", "--sparkplug-host", "site"])
                #expect(await gateway.waitForOutput("connected for Sparkplug"))
                await states.expectMessage {
                    $0.topic == "spBv1.0/STATE/site" && $0.text.contains(#""online":true"#) && !$0.isRetained
                }
                // The births were before the gateway, so it asks for them as soon as it receives anything.
                try await edge.command("temperature 21.5 1795575600000")
                #expect(await edge.program.waitForOutput("rebirth requested"), "\(gateway.text)")
                #expect(gateway.text.contains("new birth messages are requested"))
                // This implementation does not answer, so it starts again.
                await edge.program.stop(SIGKILL)
                let again = try Peer(system, "edge", ["plant", "line1"])
                defer { again.program.signal(SIGKILL) }
                #expect(await again.program.waitForOutput("edge node started"))
                try await expectEventually(gateway.text) { try system.rows(of: "x_oven") == 1 }
                #expect(await collector.waitForState("active", of: "default/plant-line1-oven"))
                #expect(
                    try integer(system, "SELECT count(*) FROM x_oven WHERE temperature = 20.5 AND offset = -29") == 1)
                try await expectEventually(gateway.text) { try system.rows(of: "x_sparkplug_door") > 0 }
                try await expectEventually(gateway.text) {
                    try integer(system, "SELECT count(*) FROM x_sparkplug_door WHERE value = 1") == 1
                }
                let now = Int(Date().timeIntervalSince1970 * 1000)
                for index in 0..<300 { try await again.command("temperature \(index) \(now - 1000 + index)") }
                // A value of the other column that has not changed is not sent again.
                try await expectEventually(gateway.text) {
                    try integer(system, "SELECT count(*) FROM x_oven WHERE offset = -29") == 301
                }
                #expect(!gateway.text.contains("Sparkplug messages missing"))
                try await again.command("skip")
                try await again.command("temperature 7 \(now)")
                #expect(await gateway.waitForOutput("Sparkplug messages missing"))
                #expect(await again.program.waitForOutput("rebirth requested"))
                try await again.command("deregister")
                #expect(await collector.waitForState("background", of: "default/plant-line1-oven"))
                try await expectEventually { try system.rows(of: "x_oven") == 302 }
                #expect(try integer(system, "SELECT count(*) FROM conflicts") == 0)

                // The will of the host application.
                await gateway.stop(SIGKILL)
                await states.expectMessage {
                    $0.topic == "spBv1.0/STATE/site" && $0.text.contains(#""online":false"#) && !$0.isRetained
                }
            } catch {
                await edge.program.stop(SIGKILL)
                throw error
            }
        }
    }

    @Test("after a restart of the gateway, a node that has nothing to report is asked for its births")
    func restart() async throws {
        try await withSystem { system in
            let collector = try system.startCollector(try collectorOptions(system))
            try await system.waitForSubscription()
            let arguments = try options(system) + ["--accept", "any", "--sparkplug-host", "site"]
            let gateway = try system.startGateway(arguments)
            #expect(await gateway.waitForOutput("connected for Sparkplug"))
            let edge = try Peer(system, "edge", ["plant", "line1"])
            defer { edge.program.signal(SIGKILL) }
            #expect(await edge.program.waitForOutput("edge node started"))
            #expect(await collector.waitForState("active", of: "default/plant-line1-oven"), "\(gateway.text)")
            await gateway.stop()
            #expect(!edge.program.text.contains("rebirth requested"))
            let again = try system.startGateway(arguments)
            #expect(await edge.program.waitForOutput("rebirth requested"), "\(again.text)")
        }
    }

    @Test("the death of a foreign edge node makes its devices lost")
    func nodeDeath() async throws {
        try await withSystem { system in
            let collector = try system.startCollector(try collectorOptions(system))
            try await system.waitForSubscription()
            let gateway = try system.startGateway(
                try options(system) + ["--accept", "any", "--sparkplug-host", "site"])
            #expect(await gateway.waitForOutput("connected for Sparkplug"))
            let edge = try Peer(system, "edge", ["plant", "line1"])
            defer { edge.program.signal(SIGKILL) }
            #expect(await edge.program.waitForOutput("edge node started"))
            #expect(await collector.waitForState("active", of: "default/plant-line1-oven"), "\(gateway.text)")
            let client = try await system.connect(["lockstep/default/$gateway/+"])
            edge.program.signal(SIGKILL)
            #expect(await collector.waitForState("background", of: "default/plant-line1-oven"), "\(gateway.text)")
            // The last report has the figures without a wait for the next one.
            await gateway.stop()
            let last = await client.waitForMessage {
                $0.text.contains(#""status":"offline""#) && $0.text.contains("memory")
            }
            let health = try GatewayHealth.decode(Data(try #require(last).payload))
            // Two births and the death at least; the node has been forgotten.
            #expect((health.sparkplug?.messages ?? 0) >= 3 && health.sparkplug?.nodes == 0, "\(health)")
        }
    }

    @Test("a foreign host application sees births, data and deaths of Lockstep's devices, and can ask for births")
    func edge() async throws {
        try await withSystem { system in
            let host = try Peer(system, "host")
            defer { host.program.signal(SIGKILL) }
            #expect(await host.program.waitForOutput("host application started"), "\(host.program.text)")
            let gateway = try system.startGateway(["--accept", "any", "--sparkplug-out", "lockstep/gateway"])
            #expect(await gateway.waitForOutput("connected as Sparkplug edge node"))
            // The birth of the node is sent after the subscriptions to the devices.
            await expectEventually(host.program.text) { host.messages.contains { $0.type == "NBIRTH" } }
            let client = try await system.connect()
            let now = Int64(Date().timeIntervalSince1970) * 1_000_000
            #expect(
                await client.publish(
                    "lockstep/site/phone.1/presence",
                    #"{"epoch":"e1","session":\#(now),"phase":"foreground","at":\#(now),"reason":"start"}"#,
                    isRetained: true))
            #expect(
                await client.publish(
                    "lockstep/site/phone.1/battery",
                    #"{"v":1,"epoch":"e1","seq":1,"t":\#(now),"level":[0.5],"state":["charging"]}"#))
            func births() -> [Peer.Message] { host.messages.filter { $0.type == "DBIRTH" } }
            await expectEventually(host.program.text) { births().count == 1 }
            let birth = try #require(births().first)
            #expect(birth.device == "site:phone.1")
            #expect(birth.metric("battery/level")?.number == 0.5)
            #expect(birth.metric("battery/level")?.type == "DOUBLE")
            #expect(birth.metric("battery/level")?.time == Int(now / 1000))
            #expect(birth.metric("battery/state")?.text == "charging")
            // An old value, which must not replace the current one, and an unknown one.
            #expect(
                await client.publish(
                    "lockstep/site/phone.1/battery",
                    #"{"v":1,"epoch":"e1","seq":2,"live":false,"t":\#(now - 5_000_000),"level":[null],"state":["full"]}"#
                ))
            func data() -> [Peer.Message] { host.messages.filter { $0.type == "DDATA" } }
            await expectEventually(host.program.text) { data().count == 2 }
            let old = try #require(data().last)
            #expect(old.metric("battery/state")?.historical == true)
            #expect(old.metric("battery/level")?.null == true)

            try await host.command("rebirth lockstep gateway")
            await expectEventually(host.program.text) { births().count == 2 }
            let messages = host.messages
            let nodes = messages.filter { $0.type == "NBIRTH" }
            #expect(nodes.map(\.seq) == [0, 0])
            #expect(nodes[0].metric("bdSeq")?.number == nodes[1].metric("bdSeq")?.number)
            #expect(messages.filter { $0.type != "NDEATH" }.map(\.seq) == [0, 1, 2, 3, 0, 1])
            #expect(births()[1].metric("battery/level")?.number == 0.5)

            #expect(
                await client.publish(
                    "lockstep/site/phone.1/presence", #"{"epoch":"e1","session":\#(now),"phase":"terminated"}"#,
                    isRetained: true))
            await expectEventually(host.program.text) { host.messages.contains { $0.type == "DDEATH" } }
            await gateway.stop(SIGKILL)
            await expectEventually(host.program.text) { host.messages.contains { $0.type == "NDEATH" } }
            let death = try #require(host.messages.last { $0.type == "NDEATH" })
            #expect(death.metric("bdSeq")?.number == nodes[0].metric("bdSeq")?.number)
        }
    }
}
