import LockstepModel
import LockstepStore
import Logging
import Synchronization

@testable import LockstepCollector

/// The commits of a collector: when they were made and how many batches they had.
final class CommitLog: Sendable {
    struct Commit {
        let at: ContinuousClock.Instant
        let batches: Int
    }

    private let log = Mutex<[Commit]>([])

    var commits: [Commit] { log.withLock { $0 } }

    /// The number of batches in all commits.
    var batches: Int { commits.reduce(0) { $0 + $1.batches } }

    fileprivate func append(_ batches: Int) { log.withLock { $0.append(Commit(at: .now, batches: batches)) } }

    /// Runs a collector while `body` runs, and records its commits.
    static func of(
        _ configuration: CollectorConfiguration, store path: String, _ body: (CommitLog) async throws -> Void
    ) async throws {
        let log = CommitLog()
        try await withCollector(configuration) {
            ObservedStore(try SQLiteStore(path: path), log)
        } _: {
            try await body(log)
        }
    }
}

/// Runs a collector while `body` runs.
func withCollector(
    _ configuration: CollectorConfiguration, makeStore: @escaping @Sendable () throws -> sending any SampleStore,
    _ body: () async throws -> Void
) async throws {
    let collector = Collector(
        configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, makeStore: makeStore)
    try await withThrowingTaskGroup { group in
        group.addTask { try await collector.run() }
        try await body()
        group.cancelAll()
        try await group.waitForAll()
    }
}

private final class ObservedStore: SampleStore {
    private let store: SQLiteStore
    private let log: CommitLog
    private var batches = 0

    init(_ store: SQLiteStore, _ log: CommitLog) {
        self.store = store
        self.log = log
    }

    func add(_ group: IngestGroup) throws {
        batches += group.runs.reduce(0) { $0 + $1.batches.count }
        try store.add(group)
    }

    func commit() throws -> IngestResult {
        let result = try store.commit()
        if batches > 0 { log.append(batches) }
        batches = 0
        return result
    }

    var needsMaintenance: Bool { store.needsMaintenance }

    func performMaintenance() { store.performMaintenance() }

    func lifecycles() throws -> [DeviceAddress: LifecycleSnapshot] { try store.lifecycles() }

    func close() { store.close() }
}
