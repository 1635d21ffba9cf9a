import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Logging
import Synchronization
import Testing

@testable import LockstepCollector

@Suite("The store of a collector")
struct CollectorStoreTests {
    @Test(
        "maintenance runs without a commit, at the start and when it becomes due, and the store is closed once at the end"
    )
    func maintenance() async throws {
        let record = RecordingStore.Record()
        record.neededPieces.withLock { $0 = 3 }
        // Nothing listens on this port.
        let configuration = CollectorConfiguration(
            id: try CollectorID(validating: "main"), broker: BrokerAddress(host: "127.0.0.1", port: 1))
        let collector = Collector(
            configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            makeStore: { RecordingStore(record) })
        let run = Task { try await collector.run() }
        await expectEventually { record.count(of: .maintenance) == 3 }
        record.neededPieces.withLock { $0 = 1 }
        await expectEventually { record.count(of: .maintenance) == 4 }
        #expect(record.count(of: .close) == 0)
        run.cancel()
        try await run.value
        #expect(record.calls.withLock { $0 } == Array(repeating: .maintenance, count: 4) + [.close])
    }

    @Test(
        "a failed commit ends a share, and shows whether the servers of the store can be reached",
        arguments: [true, false])
    func cutOff(isCutOff: Bool) throws {
        let share = CollectorShare(group: .standard)
        let configuration = CollectorConfiguration(
            id: try CollectorID(validating: "main"), broker: BrokerAddress(host: "127.0.0.1", port: 1))
        let loop = try CollectorLoop(
            configuration, store: RecordingStore(RecordingStore.Record()), wakeup: Wakeup(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, supervisor: .disabled,
            transitions: AsyncStream.makeStream(of: DeviceTransition.self).continuation, mailbox: RuleMailbox(),
            ownership: Ownership(claiming: Lease(share)))
        loop.commitResult = .failure(StoreError(.unreachable, "test", isCutOff: isCutOff))
        _ = loop.perform(.rollBack)
        #expect(loop.ownership.shareProblem?.isStoreClosed == isCutOff && loop.report.isStalled)
        loop.writer.close()
    }
}
