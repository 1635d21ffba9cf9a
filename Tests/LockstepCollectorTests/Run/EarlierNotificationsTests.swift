import LockstepMQTT
import LockstepModel
import LockstepRules
import LockstepTestSupport
import Logging
import Synchronization
import Testing

@testable import LockstepCollector
@testable import LockstepStore

@Suite("Notifications of earlier runs")
struct EarlierNotificationsTests {
    private struct Failure: Error {}

    @Test("they wait until the rules can be read, because they have no way out before", arguments: [true, false])
    func waiting(isFileFaulty: Bool) async throws {
        let record = RecordingStore.Record()
        let time = Moment.now().wall
        let event = RuleEvent(
            key: .init(rule: "a", device: nil, time: time), at: time, value: nil, text: "text", isLate: false)
        record.pending.withLock {
            $0 = [
                EventDelivery(
                    id: 1, event: StoredEvent(id: 1, event: event), way: "desk", state: .pending, attempts: 0,
                    due: time, error: nil)
            ]
        }
        if !isFileFaulty { record.failedReads.withLock { $0 = 1 } }
        // Nothing listens on this port.
        var configuration = CollectorConfiguration(
            id: try CollectorID(validating: "main"), broker: BrokerAddress(host: "127.0.0.1", port: 1))
        let loads = Atomic(0)
        configuration.loadRules = {
            let count = loads.add(1, ordering: .relaxed).newValue
            if isFileFaulty, count == 1 { throw Failure() }
            return RuleSet(ways: ["desk": .command(["/bin/true"])])
        }
        let collector = Collector(
            configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            makeStore: { RecordingStore(record) })
        let run = Task { try await collector.run() }
        await expectEventually("the rules are read") { loads.load(ordering: .relaxed) > 0 }
        if isFileFaulty { collector.reloadRules() }
        await expectEventually("the notification is sent") { !record.updates.withLock { $0.isEmpty } }
        #expect(record.updates.withLock { $0.map(\.state) } == [.sent])
        run.cancel()
        try await run.value
    }
}
