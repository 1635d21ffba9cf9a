import Dispatch
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepCollector

@Suite("Store writer: maintenance")
struct StoreMaintenanceTests {
    private let record = RecordingStore.Record()
    private let group = IngestGroup(seen: [device: time(1)])

    /// Creates a writer whose store needs a number of pieces.
    private func writer(pieces: Int) -> StoreWriter {
        record.neededPieces.withLock { $0 = pieces }
        return StoreWriter(RecordingStore(record))
    }

    @Test("a store that needs no maintenance gets none")
    func unnecessary() throws {
        let writer = writer(pieces: 0)
        writer.performMaintenance()
        _ = try writer.commit(adding: group).get()
        writer.performMaintenance()
        writer.finish()
        #expect(record.calls.withLock { $0 } == [.add, .commit])
    }

    @Test("the pieces follow each other until the store needs none, without a commit")
    func idle() async {
        let writer = writer(pieces: 5)
        writer.performMaintenance()
        writer.performMaintenance()
        await expectEventually { record.neededPieces.withLock { $0 } == 0 }
        writer.finish()
        writer.performMaintenance()
        writer.finish()
        #expect(record.count(of: .maintenance) == 5)
    }

    @Test("maintenance that becomes due later runs without a commit")
    func due() async throws {
        let writer = writer(pieces: 0)
        _ = try writer.commit(adding: group).get()
        writer.performMaintenance()
        writer.finish()
        for count in [2, 4] {
            record.neededPieces.withLock { $0 = 2 }
            await expectEventually {
                writer.performMaintenance()
                return record.count(of: .maintenance) == count
            }
        }
        writer.finish()
        #expect(record.calls.withLock { $0 }.prefix(3) == [.add, .commit, .maintenance])
    }

    @Test("a commit waits for at most one piece, and the maintenance resumes after the turn")
    func commit() async throws {
        let writer = writer(pieces: 3)
        let gate = Gate(record)
        writer.performMaintenance()
        await gate.waitForPiece()
        async let commit = onThread { [group] in writer.commit(adding: group) }
        await expectEventually { writer.interruptions.load(ordering: .acquiring) == 1 }
        gate.open()
        _ = try await commit.get()
        writer.finish()
        #expect(record.calls.withLock { $0 } == [.maintenance, .add, .commit])
        writer.performMaintenance()
        await expectEventually { record.neededPieces.withLock { $0 } == 0 }
        #expect(record.count(of: .maintenance) == 3)
    }

    @Test("no piece runs between the first group of a transaction and its commit")
    func transaction() async throws {
        let writer = writer(pieces: 3)
        let gate = Gate(record)
        writer.performMaintenance()
        await gate.waitForPiece()
        writer.add(group)
        #expect(!writer.isIdle)
        gate.open()
        writer.finish()
        writer.finish()
        _ = try writer.commit(adding: group).get()
        #expect(record.calls.withLock { $0 } == [.maintenance, .add, .add, .commit])
    }

    @Test("maintenance does not count as unwritten groups")
    func isIdle() async {
        let writer = writer(pieces: 1)
        let gate = Gate(record)
        writer.performMaintenance()
        await gate.waitForPiece()
        #expect(writer.isIdle)
        gate.open()
    }

    @Test("closing waits for queued groups and ends the maintenance")
    func close() async {
        let writer = writer(pieces: 3)
        let gate = Gate(record)
        writer.performMaintenance()
        await gate.waitForPiece()
        writer.add(group)
        async let closing: Void = onThread { writer.close() }
        await expectEventually { writer.interruptions.load(ordering: .acquiring) == 2 }
        gate.open()
        await closing
        #expect(record.calls.withLock { $0 } == [.maintenance, .add, .close])
    }
}

/// Runs a blocking call on a thread of its own. On a thread of the tasks, it would block other tests.
private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}

/// Blocks pieces of maintenance until it is opened.
private final class Gate: Sendable {
    private let isReached = Mutex(false)
    private let semaphore = DispatchSemaphore(value: 0)

    init(_ record: RecordingStore.Record) {
        record.willMaintain.withLock {
            $0 = { [self] in
                isReached.withLock { $0 = true }
                semaphore.wait()
                semaphore.signal()
            }
        }
    }

    func waitForPiece() async { await expectEventually { isReached.withLock { $0 } } }

    func open() { semaphore.signal() }
}
