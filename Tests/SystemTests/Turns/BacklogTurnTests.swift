import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepCollector

@Suite("A turn of several parts", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct BacklogTurnTests {
    private static let messages = 2000

    @Test("every sample is stored once, although one part of a turn cannot be written")
    func failure() async throws {
        try await withBroker { broker in
            try await withTemporaryFolder { folder in
                let kept = SampleMessages(collector: "turn", port: broker.port)
                try await kept.begin()
                try await kept.publish(1...Self.messages)
                let path = folder + "/store.db"
                let parts = Mutex(0)
                var configuration = CollectorConfiguration(
                    id: try CollectorID(validating: "turn"), broker: broker.address)
                configuration.turn = TurnLimits(messages: 1600, partMessages: 20, duration: .seconds(30))
                try await withCollector(configuration) {
                    FailingStore(try SQLiteStore(path: path)) { parts.withLock { $0 += 1 } }
                } _: {
                    let store = try await opened(path)
                    try await expectEventually {
                        try store.integer("SELECT count(*) FROM accelerometer") == Self.messages
                            && store.integer("SELECT max(last) FROM batches") == Self.messages
                    }
                }
                let store = try await opened(path)
                let reason = try store.text("SELECT reason FROM rejected LIMIT 1")
                #expect(reason == nil)
                #expect(try store.integer("SELECT min(first) FROM batches") == 1)
                #expect(try store.integer("SELECT count(*) FROM v_gaps") == 0)
                #expect(try store.integer("SELECT conflicts FROM devices") == 0)
                // The failed turn was rolled back completely, so no sample is a duplicate.
                #expect(try store.integer("SELECT duplicates FROM devices") == 0)
                #expect(parts.withLock { $0 } > 2)
            }
        }
    }

    private func opened(_ path: String) async throws -> SQLiteDatabase {
        try await expectEventually {
            guard FileManager.default.fileExists(atPath: path) else { return false }
            return try SQLiteDatabase(path: path, mode: .readOnly).integer(
                "SELECT count(*) FROM sqlite_master WHERE name = 'accelerometer'") == 1
        }
        return try SQLiteDatabase(path: path, mode: .readOnly)
    }
}

/// A store that fails once, in the second part of a transaction.
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

    var needsMaintenance: Bool { store.needsMaintenance }

    func performMaintenance() { store.performMaintenance() }

    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] { try store.lifecycles() }

    func close() { store.close() }
}
