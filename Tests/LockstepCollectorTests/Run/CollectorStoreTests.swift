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
        "after a restart, sessions wait for a device only if it was not offline before",
        arguments: [(.lost, false), (.background, true), (.terminated, false)] as [(Phase, Bool)])
    func offlineDevices(_ phase: Phase, isAwaited: Bool) async throws {
        try await withTemporaryFolder { folder in
            var session = RecordingSession(key: sessionKey, name: "walk", created: time(0))
            session.state = .stopping
            (session.start, session.end) = (time(1), Moment.now().wall)
            let device = DeviceAddress(group: sessionKey.group, device: DeviceID(unchecked: "pi"))
            session.devices[device.device] = .init(joined: time(0))
            var group = IngestGroup()
            group.sessions = [session]
            // A device that returns in background after its connection was lost makes no transition.
            let last = LifecycleTransition(
                from: .active, to: phase == .terminated ? .terminated : .background, since: time(1),
                reason: "connection-lost", seq: 1)
            group.lifecycles = [device: LifecycleSnapshot(last: last, session: 1, phase: phase)]
            let store = try SQLiteStore(path: folder + "/store")
            try store.write(group)
            let loop = try CollectorLoop(
                CollectorConfiguration(
                    id: try CollectorID(validating: "main"), broker: BrokerAddress(host: "127.0.0.1", port: 1)),
                store: store, wakeup: Wakeup(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                supervisor: .disabled,
                transitions: AsyncStream.makeStream(of: DeviceTransition.self).continuation, mailbox: RuleMailbox(),
                ownership: Ownership())
            defer { loop.writer.close() }
            // Its batch numbers are read in the first one.
            for seconds in [0.0, 2] {
                var now = Moment.now()
                now.boot += Int64(seconds * 1e6)
                loop.intake.sessions.tick(at: now, isInTransaction: false) { _ in [:] }
            }
            #expect(loop.intake.sessions[sessionKey]?.state == (isAwaited ? .stopping : .incomplete))
        }
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
