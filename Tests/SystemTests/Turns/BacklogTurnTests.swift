import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Logging
import Synchronization
import Testing

@testable import LockstepCollector

@Suite("A turn of several parts", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct BacklogTurnTests {
    private static let messages = 2000

    @Test("stores everything once, though a part in the midst of it can't be written")
    func failure() async throws {
        try await withBroker { broker in
            try await withTemporaryFolder { folder in
                try await keepMessages(in: broker, folder)
                let path = folder + "/store.db"
                let parts = Mutex(0)
                var configuration = CollectorConfiguration(
                    id: try CollectorID(validating: "turn"), broker: broker.address)
                configuration.turn = TurnLimits(messages: 1600, partMessages: 20, duration: .seconds(30))
                let collector = Collector(
                    configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                ) {
                    FailingStore(try SQLiteStore(path: path)) { parts.withLock { $0 += 1 } }
                }
                let run = Task { try await collector.run() }
                let store = try await opened(path)
                try await expectEventually {
                    try store.integer("SELECT count(*) FROM accelerometer") == Self.messages
                        && store.integer("SELECT last FROM batches") == Self.messages
                }
                run.cancel()
                try await run.value
                let reason = try store.text("SELECT reason FROM rejected LIMIT 1")
                #expect(reason == nil)
                #expect(try store.integer("SELECT count(*) FROM batches") == 1)
                #expect(try store.integer("SELECT conflicts FROM devices") == 0)
                // Nothing of the turn that failed was kept, so nothing came twice.
                #expect(try store.integer("SELECT duplicates FROM devices") == 0)
                #expect(parts.withLock { $0 } > 2)
            }
        }
    }

    /// Fills the collector's session with batches of one sample.
    private func keepMessages(in broker: TestBroker, _ folder: String) async throws {
        let session = try await RunningProgram.run(
            Programs.installed("mosquitto_sub") ?? "mosquitto_sub",
            [
                "-p", "\(broker.port)", "-V", "mqttv5", "-i", "lockstep-collector-turn", "-c", "-x", "3600", "-q", "1",
                "-t", "lockstep/#", "-E",
            ])
        #expect(session.status == 0, "\(session.text)")
        let file = folder + "/messages"
        let lines = (1...Self.messages).map { seq in
            #"{"v":1,"epoch":"e","seq":\#(seq),"t":\#(1_700_000_000_000_000 + seq),"x":[1],"y":[2],"z":[3]}"#
        }
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let published = try await RunningProgram.run(
            "/bin/sh",
            [
                "-c", #"exec mosquitto_pub -p "$0" -q 1 -t lockstep/default/walker/motion/accelerometer -l <"$1""#,
                "\(broker.port)", file,
            ])
        #expect(published.status == 0, "\(published.text)")
    }

    private func opened(_ path: String) async throws -> SQLiteDatabase {
        try await expectEventually {
            guard FileManager.default.fileExists(atPath: path) else { return false }
            return try SQLiteDatabase(path: path, mode: .readOnly).integer(
                "SELECT count(*) FROM sqlite_master WHERE name = 'v_rejected'") == 1
        }
        return try SQLiteDatabase(path: path, mode: .readOnly)
    }
}

/// A store that fails once, at the second part of a transaction.
private final class FailingStore: SampleStore {
    private let store: SQLiteStore
    private let willAdd: @Sendable () -> Void
    private var parts = 0
    private var hasFailed = false

    init(_ store: SQLiteStore, willAdd: @escaping @Sendable () -> Void) {
        self.store = store
        self.willAdd = willAdd
    }

    func add(_ group: IngestGroup) throws {
        try store.add(group)
        guard !group.runs.isEmpty else { return }
        willAdd()
        parts += 1
        guard parts == 2, !hasFailed else { return }
        hasFailed = true
        parts = 0
        store.rollBack()
        throw StoreError(.other, "broken on purpose")
    }

    func commit() throws -> IngestResult {
        parts = 0
        return try store.commit()
    }

    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] { try store.lifecycles() }
}
