import LockstepClickHouse
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepServe

@Suite("Threads that read the store")
struct StorePoolTests {
    /// Runs a read that lasts until it is cancelled, and returns whether it was.
    private static func cancelledRead(_ end: (StorePool, Task<Bool, any Error>) -> Void) async throws -> Bool {
        try await withTemporaryFolder { folder in
            let path = folder + "/samples.db"
            _ = try SQLiteStore(path: path)
            let pool = StorePool(.sqlite(path: path), threads: 1, maxWaiting: 10)
            defer { pool.stop() }
            let hasBegun = Atomic(false)
            let read = Task {
                try await pool.read { _, cancellation in
                    hasBegun.store(true, ordering: .relaxed)
                    let deadline = ContinuousClock.now + .seconds(20)
                    while !cancellation.isCancelled, ContinuousClock.now < deadline {}
                    return cancellation.isCancelled
                }
            }
            await expectEventually("the read") { hasBegun.load(ordering: .relaxed) }
            end(pool, read)
            return try await read.value
        }
    }

    @Test("the cancellation of the task cancels its read")
    func cancelledTask() async throws {
        #expect(try await Self.cancelledRead { $1.cancel() })
    }

    @Test("stopping cancels running reads")
    func stopped() async throws {
        #expect(try await Self.cancelledRead { pool, _ in pool.stop() })
    }
}
