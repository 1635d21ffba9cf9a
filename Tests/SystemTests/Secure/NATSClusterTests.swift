import Foundation
import LockstepCollector
import LockstepMQTT
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("The NATS cluster", .enabled(if: Programs.isInstalled("nats-server"), "nats-server is not installed"))
struct NATSClusterTests {
    @Test("samples are delivered between two nodes, also after the third one is killed")
    func delivers() async throws {
        try await withNATSCluster { cluster, credentials, folder in
            let collector = try cluster.run(
                "lockstep-collector",
                ["--broker", cluster.url(0), "--store", "sqlite:\(folder)/store.db"]
                    + credentials.options(credentials.tls("collector")))
            let agent = try cluster.run(
                "lockstep-agent",
                [
                    "--broker", cluster.url(1), "--group", "lab", "--device", "arm-left", "--source", "simulate:1",
                    "--outbox", "\(folder)/arm-left.outbox", "--window", "200ms",
                ] + credentials.options(credentials.tls("lab/arm-left")))
            await expectEventually("\(collector.text)\(agent.text)", within: .seconds(120)) {
                collector.hasLoggedState("active", of: "lab/arm-left")
            }
            #expect(agent.text.contains("mqtt=3.1.1"))
            #expect(!agent.text.contains("MQTT 5"), "\(agent.text)")
            await cluster.nodes[2].stop(SIGKILL)
            let before = try stored(folder)
            await expectEventually("\(collector.text)\(agent.text)\(cluster.text)", within: .seconds(120)) {
                (try? stored(folder)).map { $0 > before + 2000 } == true
            }
            // Messages that were in flight when the node was killed are re-sent.
            let store = try SQLiteDatabase(path: "\(folder)/store.db", mode: .readOnly)
            try await expectEventually("\(agent.text)", within: .seconds(120)) {
                try store.integer("SELECT count(*) FROM v_gaps") == 0
            }
            await agent.stop()
            // Only the collector's acknowledgements empty the outbox, so they were delivered as well.
            #expect(await collector.waitForState("terminated", within: .seconds(120)), "\(collector.text)")
            await collector.stop()
            let verification = try await RunningProgram.run(
                Programs.built("lockstep"), ["verify", "--store", "sqlite:\(folder)/store.db"])
            #expect(verification.status == 0, "\(verification.text)")
        }
    }

    @Test("a client without a certificate or without the right that it needs is refused with the reason")
    func refused() async throws {
        try await withNATSCluster { cluster, credentials, _ in
            let unknown = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["watch", "--broker", cluster.url(0)] + credentials.options(credentials.trusting),
                within: .seconds(120))
            #expect(unknown.status == 1 && unknown.text.contains("certificate"), "\(unknown.text)")
            let simulation = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["simulate", "--broker", cluster.url(0)] + credentials.options(credentials.tls("lab/arm-left")))
            #expect(
                simulation.status == 1
                    && simulation.text.contains("the health of collectors, 'lockstep/+/$collector/+'"),
                "\(simulation.text)\(cluster.text)")
        }
    }

    @Test("only a collector can use the NATS protocol, with which a device could read the messages of all others")
    func protocols() async throws {
        try await withNATSCluster { cluster, credentials, _ in
            func bucket(_ user: String) throws -> KeyValueBucket {
                KeyValueBucket("lockstep-leases", try cluster.leaseOptions(credentials.tls(user)))
            }
            for user in ["lab/arm-left", "reader", "operator", "gateway", "serve"] {
                let error = #expect(throws: NATSError.self, "\(user)") { try bucket(user).value(of: "test") }
                #expect("\(error as Any)".contains("Authorization Violation"), "\(user): \(error as Any)")
            }
            let collector = try bucket("collector")
            await expectEventually("\(cluster.text)", within: .seconds(60)) {
                do { return try collector.value(of: "test") == nil } catch { return false }
            }
        }
    }

    private func stored(_ folder: String) throws -> Int {
        Int(try StoreReader(path: folder + "/store.db").devices().first?.samples ?? 0)
    }
}
