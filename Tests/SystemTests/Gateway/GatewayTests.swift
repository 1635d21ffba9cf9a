import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Testing

private let needsBroker = ConditionTrait.enabled(
    if: Programs.isInstalled("mosquitto") && Programs.isInstalled("mosquitto_pub"), "mosquitto is not installed")

extension TestSystem {
    func startGateway(_ arguments: [String] = ["--accept", "any"]) throws -> RunningProgram {
        try start("lockstep-gateway", ["--broker", broker.url, "--outbox", folder + "/gateway.db"] + arguments)
    }

    /// Publishes each line as a message with QoS 1, and returns when the broker has acknowledged all of them.
    func publish(_ lines: [String], on topic: String) async throws {
        let publisher = try startPublisher(lines, on: topic)
        guard await publisher.waitForExit() == 0 else { throw ProgramError("mosquitto_pub failed: \(publisher.text)") }
    }

    /// Starts to publish each line as a message with QoS 1. All lines together must fit into a pipe: 64 KB.
    func startPublisher(_ lines: [String], on topic: String) throws -> RunningProgram {
        guard let program = Programs.installed("mosquitto_pub") else {
            throw ProgramError("mosquitto_pub is not installed")
        }
        return try RunningProgram(
            program, ["-p", "\(broker.port)", "-t", topic, "-q", "1", "-l"],
            input: lines.joined(separator: "\n") + "\n")
    }

    /// Returns the number of rows of a table of the store, or 0 without a store.
    func rows(of table: String) throws -> Int64 {
        guard FileManager.default.fileExists(atPath: storePath) else { return 0 }
        let store = try SQLiteDatabase(path: storePath, mode: .readOnly)
        // A stream has a table from its first sample on.
        guard try store.integer("SELECT count(*) FROM sqlite_schema WHERE name = '\(table)'") > 0 else { return 0 }
        return try store.integer("SELECT count(*) FROM \(table)")
    }
}

extension TestClient {
    /// The phases of the received presences, without repetitions: a gateway publishes a presence again after a restart.
    fileprivate var phases: [String] {
        messages.reduce(into: []) { phases, message in
            guard let presence = try? PresenceJSON.decode(Data(message.payload)) else { return }
            if phases.last != presence.phase.rawValue { phases.append(presence.phase.rawValue) }
        }
    }
}

private func location(_ seconds: Int, lat: Double = 50, more: String = "") -> String {
    #"{"_type":"location","lat":\#(lat),"lon":8.5,"tst":\#(seconds)\#(more)}"#
}

@Suite("Gateway", needsBroker)
struct GatewayTests {
    @Test("a gateway whose port is in use ends before it connects to the broker")
    func portInUse() async throws {
        try await withSystem { system in
            let first = try system.startGateway(["--listen", "0"])
            #expect(await first.waitForOutput("server started"))
            let port = try #require(first.text.firstMatch(of: /address=http:\/\/[^ ]*?:([0-9]+)\//)).1
            let second = try await RunningProgram.run(
                Programs.built("lockstep-gateway"),
                ["--broker", system.broker.url, "--outbox", system.folder + "/second.db", "--listen", "\(port)"])
            #expect(second.status != 0)
            // Neither a log of a started gateway nor an error of the HTTP library.
            #expect(second.text.hasPrefix("Error: --listen 127.0.0.1:\(port): another program uses this port"))
        }
    }

    @Test("a gateway whose key does not belong to its certificate ends before it connects to the broker")
    func otherKey() async throws {
        try await withSystem { system in
            let own = try await TestCertificate(in: system.folder)
            let other = try await TestCertificate("other", in: system.folder)
            let gateway = try system.startGateway([
                "--listen", "0", "--server-cert-file", own.certificate, "--server-key-file", other.key,
            ])
            #expect(await gateway.waitForExit() != 0)
            #expect(gateway.text.hasPrefix("Error: cannot use the certificate \(own.certificate)"), "\(gateway.text)")
            #expect(gateway.text.contains(other.key), "\(gateway.text)")
        }
    }

    @Test("a second gateway on the same outbox, or with a folder as outbox, is refused")
    func otherOutbox() async throws {
        try await withSystem { system in
            let first = try system.startGateway()
            #expect(await first.waitForOutput("gateway started"))
            let second = try system.startGateway()
            #expect(await second.waitForExit() != 0)
            #expect(
                second.text.contains(
                    "another gateway (process \(first.pid)) uses the outbox '\(system.folder)/gateway.db'. "
                        + "Give each gateway its own --outbox and --id."), "\(second.text)")
            let folder = try await RunningProgram.run(
                Programs.built("lockstep-gateway"), ["--broker", system.broker.url, "--outbox", system.folder])
            #expect(folder.status != 0)
            #expect(folder.text.contains("'\(system.folder)' is a folder. Name a file with --outbox"), "\(folder.text)")
        }
    }

    @Test("of two gateways with the same id, one logs what to do and stays disconnected for a while")
    func sameID() async throws {
        try await withSystem { system in
            let first = try system.startGateway(["--mqtt", "5"])
            #expect(await first.waitForOutput("connected to broker"))
            let second = try system.start(
                "lockstep-gateway", ["--broker", system.broker.url, "--outbox", system.folder + "/second.db"])
            // Either of the two may be the first to find out.
            await expectEventually("\(first.text)\(second.text)", within: .seconds(120)) {
                let text = first.text + second.text
                return text.contains("another gateway uses the same id") && text.contains("pause=30s")
                    && text.contains("its own --id")
            }
        }
    }

    @Test("OwnTracks locations over MQTT arrive in the store once, with battery and life cycle")
    func ownTracks() async throws {
        try await withSystem { system in
            let collector = try system.startCollector()
            try await system.waitForSubscription()
            let gateway = try system.startGateway()
            #expect(await gateway.waitForOutput("connected to broker"))
            let now = Int(Date().timeIntervalSince1970)
            let lines = (0..<500).map { location(now - 500 + $0, more: #","batt":\#($0 % 100),"bs":1,"vel":36"#) }
            try await system.publish(lines, on: "owntracks/alice/phone")
            // The broker sends repeated messages again, such as after a lost PUBACK.
            try await system.publish(Array(lines.prefix(20)), on: "owntracks/alice/phone")
            try await expectEventually(gateway.text) { try system.rows(of: "location") == 500 }
            try await expectEventually { try system.rows(of: "battery") == 500 }
            let store = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
            #expect(try store.integer("SELECT count(*) FROM location WHERE speed = 10") == 500)
            #expect(await collector.waitForState("active", of: "default/alice-phone"))
            try await system.publish([#"{"_type":"lwt","tst":\#(now)}"#], on: "owntracks/alice/phone")
            #expect(await collector.waitForState("background", of: "default/alice-phone", reason: "lwt"))
            try await system.publish([location(now, more: #","t":"p""#)], on: "owntracks/alice/phone")
            #expect(await collector.waitForState("resumed", of: "default/alice-phone", reason: "ping"))
            #expect(try store.integer("SELECT count(*) FROM conflicts") == 0)
        }
    }

    @Test("unknown senders and impossible messages are refused with a reason, and others continue")
    func refused() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let settings = system.folder + "/gateway.yaml"
            try "map:\n  owntracks/alice/phone: family/alice\n".write(
                toFile: settings, atomically: true, encoding: .utf8)
            let gateway = try system.startGateway(["--config", settings, "--max-payload", "1K"])
            #expect(await gateway.waitForOutput("connected to broker"))
            let now = Int(Date().timeIntervalSince1970)
            try await system.publish([location(now)], on: "owntracks/eve/phone")
            #expect(await gateway.waitForOutput("reason=unknownSender"))
            try await system.publish([location(now * 3)], on: "owntracks/alice/phone")
            #expect(await gateway.waitForOutput("reason=implausibleTime"))
            let huge = location(now, more: #","x":"\#(String(repeating: "x", count: 2000))""#)
            try await system.publish([huge, "{", location(now)], on: "owntracks/alice/phone")
            try await expectEventually(gateway.text) { try system.rows(of: "location") == 1 }
            #expect(gateway.text.contains("more than 1024"))
            #expect(gateway.text.contains("invalid JSON"))
            let reader = try await system.reader()
            #expect(try reader.devices().map(\.address.description) == ["family/alice"])
        }
    }

    @Test("samples that are accepted while the collector is down are delivered later, and the outbox becomes empty")
    func withoutCollector() async throws {
        try await withSystem { system in
            let first = try system.startGateway()
            #expect(await first.waitForOutput("connected to broker"))
            let now = Int(Date().timeIntervalSince1970)
            try await system.publish((0..<100).map { location(now - 100 + $0) }, on: "owntracks/a/b")
            func pending() throws -> Int64 {
                try SQLiteDatabase(path: system.folder + "/gateway.db", mode: .readOnly)
                    .integer("SELECT ifnull(sum(samples), 0) FROM batches")
            }
            try await expectEventually { try pending() == 100 }
            await first.stop(SIGKILL)
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let second = try system.startGateway()
            try await expectEventually(second.text) { try system.rows(of: "location") == 100 }
            try await expectEventually { try pending() == 0 }
        }
    }

    @Test("a gateway that is killed between receipt and commit receives the messages again")
    func killedBeforeCommit() async throws {
        try await withSystem { system in
            let first = try system.startGateway()
            #expect(await first.waitForOutput("connected to broker"))
            // Holding the write lock stops the gateway between receipt and commit.
            let lock = try SQLiteDatabase(path: system.folder + "/gateway.db", mode: .readWrite)
            try lock.execute("BEGIN IMMEDIATE")
            let now = Int(Date().timeIntervalSince1970)
            try await system.publish((0..<50).map { location(now - 50 + $0) }, on: "owntracks/a/b")
            #expect(
                await first.waitForOutput("messages stay at the broker"), "the lock has not stopped it: \(first.text)")
            await first.stop(SIGKILL)
            try lock.execute("ROLLBACK")
            #expect(try lock.integer("SELECT count(*) FROM entries") == 0)
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let second = try system.startGateway()
            try await expectEventually(second.text) { try system.rows(of: "location") == 50 }
        }
    }

    @Test("a device whose sender vanishes becomes lost, also if it vanished during a restart")
    func silence() async throws {
        try await withSystem { system in
            let client = try await system.connect(["lockstep/default/+/presence"])
            let first = try system.startGateway(["--accept", "any", "--silence", "owntracks=1h"])
            #expect(await first.waitForOutput("connected to broker"))
            let now = Int(Date().timeIntervalSince1970)
            try await system.publish([location(now)], on: "owntracks/a/b")
            await expectEventually(first.text) { client.phases == ["foreground"] }
            await first.stop(SIGKILL)
            // Nothing is heard from the sender in this run.
            let second = try system.startGateway(["--accept", "any", "--silence", "owntracks=100ms"])
            await expectEventually(second.text) { client.phases == ["foreground", "lost"] }
            #expect(client.messages.last { $0.text.contains("lost") }?.text.contains(#""reason":"silent""#) == true)
            // Another message brings it back.
            try await system.publish([location(now + 1)], on: "owntracks/a/b")
            await expectEventually(second.text) { client.phases.prefix(3) == ["foreground", "lost", "foreground"] }
        }
    }

    @Test("a message that has only a presence is acknowledged when the presence is in the outbox")
    func durablePresence() async throws {
        try await withSystem { system in
            let client = try await system.connect(["lockstep/default/+/presence"])
            let first = try system.startGateway()
            #expect(await first.waitForOutput("connected to broker"))
            let now = Int(Date().timeIntervalSince1970)
            try await system.publish([location(now)], on: "owntracks/a/b")
            await expectEventually(first.text) { client.phases == ["foreground"] }
            let lock = try SQLiteDatabase(path: system.folder + "/gateway.db", mode: .readWrite)
            try lock.execute("BEGIN IMMEDIATE")
            try await system.publish([#"{"_type":"lwt","tst":\#(now)}"#], on: "owntracks/a/b")
            #expect(await first.waitForOutput("messages stay at the broker"), "the lock has not stopped it")
            await first.stop(SIGKILL)
            try lock.execute("ROLLBACK")
            #expect(client.phases == ["foreground"])
            let second = try system.startGateway()
            await expectEventually(second.text) { client.phases == ["foreground", "background"] }
            try await expectEventually {
                try lock.integer("SELECT count(*) FROM senders WHERE phase = 'background' AND published = 1") == 1
            }
        }
    }

    @Test("a gateway reports its health, the doctor and the metrics show it, and collectors do not reject it")
    func health() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["lockstep/+/$gateway/+"])
            let gateway = try system.startGateway(["--accept", "any", "--group", "family", "--id", "home"])
            let topic = "lockstep/family/$gateway/home"
            await client.expectMessage { $0.topic == topic && $0.text.contains(#""status":"online""#) }
            try await system.publish([location(Int(Date().timeIntervalSince1970)), "{"], on: "owntracks/a/b")
            await client.expectMessage {
                $0.topic == topic && $0.text.contains(#""devices":1,"accepted":1,"refused":1"#)
            }
            let doctor = try await RunningProgram.run(
                Programs.built("lockstep"), ["doctor", "--broker", system.broker.url, "--seconds", "1"])
            #expect(doctor.text.contains("gateway family/home"), "\(doctor.text)")
            let server = try system.start("lockstep-serve", ["--broker", system.broker.url, "--listen", "0"])
            #expect(await server.waitForOutput("server started"))
            let port = try #require(server.text.firstMatch(of: /address=http:\/\/127\.0\.0\.1:([0-9]+)/)?.1)
            try await expectEventually(server.text) {
                let text = try await RunningProgram.run("/usr/bin/curl", ["-s", "http://127.0.0.1:\(port)/metrics"])
                    .text
                return text.contains(#"lockstep_gateway_messages_accepted_total{group="family",gateway="home"} 1"#)
            }
            await gateway.stop(SIGKILL)
            await client.expectMessage { $0.topic == topic && $0.text.contains(#""status":"offline""#) }
            #expect(try system.rows(of: "rejected") == 0)
        }
    }
}
