import Foundation
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepCollector

@Suite("A broker with a small in-flight window")
struct SmallWindowTests {
    private static let window = 20

    // Uses NATS, because Mosquitto 2.0 exceeds its window if messages are queued.
    @Test(
        "acknowledgements are not delayed when a window is full",
        .enabled(
            if: Programs.isInstalled("nats-server") && Programs.isInstalled("mosquitto_pub"),
            "nats-server or mosquitto_pub is not installed"))
    func backlog() async throws {
        let messages = 2000
        try await withNATS { port, folder in
            let kept = SampleMessages(collector: "window", port: port, version: .three)
            try await kept.begin()
            try await kept.publish(1...messages)
            var configuration = CollectorConfiguration(
                id: try CollectorID(validating: "window"), broker: BrokerAddress(host: "127.0.0.1", port: port))
            configuration.broker.version = .three
            try await CommitLog.of(configuration, store: folder + "/store.db") { log in
                await expectEventually { log.batches >= messages }
                #expect(log.commits.count >= messages / Self.window)
                try expectNoRest(between: log.commits.map(\.at))
            }
        }
    }

    @Test(
        "states are not delayed when a window is full",
        .enabled(
            if: Programs.isInstalled("mosquitto") && Programs.isInstalled("mosquitto_pub"),
            "mosquitto or mosquitto_pub is not installed"))
    func states() async throws {
        let devices = 2000
        try await withSystem(brokerSettings: ["max_inflight_messages \(Self.window)"]) { system in
            try fillStore(system.storePath, devices: devices)
            let client = try await system.connect(["lockstep/+/+/state"])
            let others = try await system.connect(["lockstep/+/other/#"])
            let stream = try startStream(at: system.broker.port)
            defer { stream.signalGroup(SIGKILL) }
            await others.expectMessage { _ in true }
            let configuration = CollectorConfiguration(
                id: try CollectorID(validating: "window"), broker: system.broker.address)
            try await CommitLog.of(configuration, store: system.storePath) { _ in
                await expectEventually { Set(client.messages.map(\.topic)).count == devices }
            }
            #expect(client.messages.allSatisfy { $0.text.contains(#""state":"terminated""#) })
            let times = client.messages.map(\.at)
            try expectNoRest(
                between: stride(from: 0, to: times.count, by: Self.window).map { times[$0] })
        }
    }

    /// Expects that windows follow each other faster than the pauses of a turn. Only a quarter of them have to: on a slow
    /// machine, others may take as long.
    private func expectNoRest(between windows: [ContinuousClock.Instant]) throws {
        let gaps = zip(windows, windows.dropFirst()).map { $1 - $0 }.sorted()
        try #require(gaps.count >= 10)
        #expect(gaps[gaps.count / 4] < TurnLimits().pause / 4)
    }

    /// Starts a stream of messages that the collector has to read but ignores.
    private func startStream(at port: UInt16) throws -> RunningProgram {
        let command = """
            while sleep 0.005; do echo '{}'; done |
                exec mosquitto_pub -p "$0" -q 0 -t lockstep/default/other/clock/ping -l
            """
        // Limited in time, because it would not end with a killed test process.
        return try RunningProgram("/usr/bin/timeout", ["120", "/bin/sh", "-c", command, "\(port)"])
    }

    /// Creates a store with terminated devices.
    private func fillStore(_ path: String, devices: Int) throws {
        let end = LifecycleTransition(
            from: .active, to: .terminated, since: Timestamp(microseconds: 1), reason: "ended", seq: 2)
        let lifecycles = try (1...devices).map { number in
            (
                DeviceAddress(group: .standard, device: try DeviceID(validating: "walker-\(number)")),
                LifecycleSnapshot(last: end, session: 1)
            )
        }
        let store = try SQLiteStore(path: path)
        try store.add(IngestGroup(lifecycles: Dictionary(uniqueKeysWithValues: lifecycles)))
        _ = try store.commit()
    }

    /// Calls `body` with a NATS server that has a small window.
    private func withNATS(_ body: (_ port: UInt16, _ folder: String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/nats.conf"
            let port = try freePort()
            try """
            server_name: one
            listen: "127.0.0.1:\(try freePort())"
            jetstream { store_dir: "\(folder)/nats" }
            mqtt { listen: "127.0.0.1:\(port)", max_ack_pending: \(Self.window) }
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let server = try RunningProgram(Programs.installed("nats-server") ?? "", ["-c", file])
            try await finally({ await server.stop() }) {
                await expectEventually("\(server.text)") { canConnect(port: port) }
                try await body(port, folder)
            }
        }
    }
}
