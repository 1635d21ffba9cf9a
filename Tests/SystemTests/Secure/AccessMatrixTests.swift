import Foundation
import LockstepMQTT
import LockstepTestSupport
import Testing

/// Each user of the shipped access rules tries topics of every shape.
@Suite("Rights of each user", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct AccessMatrixTests {
    /// Users who read together everything that anyone may publish.
    private static let observers = [
        "collector": ["lockstep/#", "lockstep-collectors/+/member/+"],
        "gateway": ["owntracks/#", "sensor-logger/+", "senml/+", "spBv1.0/#"],
        "homeassistant": ["homeassistant/#", "lockstep-ha/#"],
    ]

    private func messages(_ topics: Set<String>) -> [MQTTMessage] {
        topics.sorted().map { MQTTMessage(topic: $0, payload: Array("x".utf8), isRetained: true) }
    }

    @Test(
        "Mosquitto: publishes what docs/security.md lists and nothing else, also retained; a phone, with and without a certificate"
    )
    func mosquitto() async throws {
        try await withSecureBroker(passwords: true) { broker in
            for user in ["alice", "homeassistant"] { try await broker.credentials.issue(user) }
            try await broker.credentials.add("arm-left")
            let passwords = broker.credentials.folder + "/passwords"
            let hashed = try await RunningProgram.run(
                try #require(Programs.installed("mosquitto_passwd")), ["-b", passwords, "alice", "s3cret"])
            #expect(hashed.status == 0, "\(hashed.text)")
            broker.broker?.signal(SIGHUP)
            for user in AccessMatrix.users.keys.sorted() {
                let client = try await broker.connect(as: user, [], version: .five)
                let topics = AccessMatrix.topics(user)
                #expect(await client.publish(messages(topics)), "\(user)")
                let accepted = topics.subtracting(client.refusedTopics)
                #expect(accepted == AccessMatrix.allowed(user), "\(user)")
            }
            // The certificate of the broker itself.
            let server = try await broker.connect(as: "broker", [], version: .five)
            let topics = AccessMatrix.topics("Lockstep broker")
            #expect(await server.publish(messages(topics)))
            #expect(server.refusedTopics == topics)
            let phone = try await broker.connect(as: "alice", password: "s3cret", [])
            #expect(await phone.publish(messages(AccessMatrix.topics("alice"))))
            #expect(
                AccessMatrix.topics("alice").subtracting(phone.refusedTopics) == AccessMatrix.allowed("alice"))
            // What was refused is not retained either.
            let allowed = AccessMatrix.users.keys.reduce(into: Set<String>()) { $0.formUnion(AccessMatrix.allowed($1)) }
            for (user, filters) in Self.observers {
                let observer = try await broker.connect(as: user, filters)
                #expect(Set(observer.messages.map(\.topic)).isSubset(of: allowed), "\(user)")
            }
        }
    }

    @Test("Mosquitto: neither a last will nor a shared subscription crosses the rights")
    func willAndShare() async throws {
        try await withSecureBroker { broker in
            let observer = try await broker.connect(as: "collector", ["lockstep/#"])
            let will = { MQTTMessage(topic: $0, payload: Array("will".utf8), isRetained: true) }
            let walker = try await broker.connect(as: "lab/walker", ["$share/all/lockstep/#"])
            for (user, topic) in [
                ("reader", "lockstep/reader/x/steps"), ("serve", "lockstep/serve/motion/state"),
                ("lab/walker", "lockstep/lab/ant/presence"), ("lab/walker", "lockstep/lab/walker/presence"),
            ] {
                // Another client with the same id ends the connection, and the broker publishes the will.
                let id = "will-\(topic)"
                let client = try await broker.connect(as: user, ["unused"], id: id, will: will(topic))
                let other = try await broker.connect(as: user, ["unused"], id: id)
                await client.stop()
                await other.stop()
            }
            await observer.expectMessage { $0.topic == "lockstep/lab/walker/presence" }
            #expect(Set(observer.messages.map(\.topic)) == ["lockstep/lab/walker/presence"])
            #expect(await observer.publish("lockstep/lab/ant/ack", "x"))
            #expect(await observer.publish("lockstep/lab/walker/ack", "x"))
            await walker.expectMessage { $0.topic == "lockstep/lab/walker/ack" }
            #expect(walker.messages.map(\.topic) == ["lockstep/lab/walker/ack"])
        }
    }

    @Test(
        "NATS: publishes what the configuration lists and nothing else, and the log names violations",
        .enabled(if: Programs.isInstalled("nats-server"), "nats-server is not installed"))
    func nats() async throws {
        // Before 2.10, a topic level with a dot ends the connection. There are no rules for phones with the certificate of a
        // device.
        let isMissing = { (topic: String) in
            topic.hasPrefix("spBv1.0") || topic == "owntracks/alice" || topic.hasSuffix("/lab/arm-left")
                || topic == "owntracks/lab/arm-left/phone"
        }
        try await withNATSCluster { cluster, credentials, _ in
            for user in ["alice", "homeassistant"] { try await credentials.issue(user) }
            func connect(_ user: String, _ filters: [String]) async -> TestClient {
                let client = TestClient(
                    BrokerAddress(host: "localhost", port: cluster.ports[0], usesTLS: true), filters: filters,
                    version: .three, tls: credentials.tls(user))
                #expect(await client.waitUntilListening(), "\(user) \(cluster.text)")
                return client
            }
            var filters = Self.observers
            filters["gateway"]?.removeAll { $0.hasPrefix("spBv1.0") }
            var observers: [TestClient] = []
            for (user, filters) in filters { observers.append(await connect(user, filters)) }
            for user in AccessMatrix.users.keys.sorted() {
                let client = await connect(user, [])
                let messages = messages(AccessMatrix.topics(user).filter { !$0.hasPrefix("spBv1.0") }).map {
                    MQTTMessage(topic: $0.topic, payload: Array(user.utf8))
                }
                #expect(await client.publish(messages), "\(user)")
                let allowed = AccessMatrix.allowed(user).filter { !isMissing($0) }
                func arrived() -> Set<String> {
                    Set(observers.flatMap(\.messages).filter { $0.text == user }.map(\.topic))
                }
                await expectEventually("\(user) \(arrived().symmetricDifference(allowed))") { arrived() == allowed }
                await client.stop()
            }
            // All of the earlier messages have arrived before the last ones.
            let allowed = AccessMatrix.users.keys.reduce(into: Set<String>()) { $0.formUnion(AccessMatrix.allowed($1)) }
            #expect(Set(observers.flatMap(\.messages).map(\.topic)).isSubset(of: allowed))
            for observer in observers { await observer.stop() }
            // Newer versions than 2.9 do not name the user, but the client id, as all do.
            let user = Programs.isNATSCurrent ? "" : "User \"CN=lab/arm-left\", "
            #expect(
                await cluster.nodes[0].waitForOutput(
                    "Publish Violation - \(user)Subject \"lockstep.lab.arm-left.state\""), "\(cluster.text)")
        }
    }
}
