import Foundation
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Logging
import Synchronization
import Testing

@testable import LockstepCollector

// Mosquitto 2.0 goes beyond its window when there is a queue behind it; NATS does not.
@Suite(
    "A broker that sends few messages at a time",
    .enabled(
        if: Programs.isInstalled("nats-server") && Programs.isInstalled("mosquitto_pub"),
        "nats-server or mosquitto_pub is not installed"))
struct SmallWindowTests {
    private static let messages = 2000
    private static let window = 20

    @Test("is not kept waiting for its acknowledgements")
    func backlog() async throws {
        try await withTemporaryFolder { folder in
            let port = try freePort()
            let broker = try startBroker(port, folder)
            await expectEventually("\(broker.text)") { canConnect(port: port) }
            try await keepMessages(at: port, folder)
            var configuration = CollectorConfiguration(
                id: try CollectorID(validating: "window"), broker: BrokerAddress(host: "127.0.0.1", port: port))
            configuration.mqttVersion = .three
            let turns = Mutex<[(at: ContinuousClock.Instant, batches: Int)]>([])
            let collector = Collector(
                configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ) {
                ObservedStore(try SQLiteStore(path: folder + "/store.db")) { batches in
                    turns.withLock { $0.append((.now, batches)) }
                }
            }
            let run = Task { try await collector.run() }
            await expectEventually("\(broker.text)") { turns.withLock { $0.last?.batches } == Self.messages }
            run.cancel()
            try await run.value
            await broker.stop()
            let times = turns.withLock { $0.map(\.at) }
            #expect(times.count >= Self.messages / Self.window)
            // On a slow machine some turns take longer than messages would gather.
            let spans = zip(times, times.dropFirst()).map { $1 - $0 }.sorted()
            #expect(spans[spans.count / 4] < Gathering.interval)
        }
    }

    private func startBroker(_ port: UInt16, _ folder: String) throws -> RunningProgram {
        let file = folder + "/nats.conf"
        try """
        server_name: one
        listen: "127.0.0.1:\(try freePort())"
        jetstream { store_dir: "\(folder)/nats" }
        mqtt { listen: "127.0.0.1:\(port)", max_ack_pending: \(Self.window) }
        """.write(toFile: file, atomically: true, encoding: .utf8)
        return try RunningProgram(Programs.installed("nats-server") ?? "nats-server", ["-c", file])
    }

    /// Fills the collector's session with batches of one sample.
    private func keepMessages(at port: UInt16, _ folder: String) async throws {
        let file = folder + "/messages"
        let lines = (1...Self.messages).map { seq in
            #"{"v":1,"epoch":"e","seq":\#(seq),"t":\#(1_700_000_000_000_000 + seq),"x":[1],"y":[2],"z":[3]}"#
        }
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let commands = """
            mosquitto_sub -p "$0" -V mqttv311 -i lockstep-collector-window -c -q 1 -t 'lockstep/#' -E &&
                exec mosquitto_pub -p "$0" -V mqttv311 -q 1 -t lockstep/default/walker/motion/accelerometer -l <"$1"
            """
        let kept = try await RunningProgram.run("/bin/sh", ["-c", commands, "\(port)", file])
        #expect(kept.status == 0, "\(kept.text)")
    }
}

/// A store that tells of each commit how many batches it has.
private final class ObservedStore: SampleStore {
    private let store: SQLiteStore
    private let didCommit: @Sendable (Int) -> Void

    init(_ store: SQLiteStore, didCommit: @escaping @Sendable (Int) -> Void) {
        self.store = store
        self.didCommit = didCommit
    }

    func add(_ group: IngestGroup) throws { try store.add(group) }

    func commit() throws -> IngestResult {
        let result = try store.commit()
        if let received = result.received.values.first { didCommit(Int(received.count)) }
        return result
    }

    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] { try store.lifecycles() }
}
