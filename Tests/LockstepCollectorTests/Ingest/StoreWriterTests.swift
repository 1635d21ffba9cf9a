import LockstepModel
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepCollector

@Suite("Store writer")
struct StoreWriterTests {
    private let record = RecordingStore.Record()

    @Test("groups are written in order and committed together with the last one")
    func order() throws {
        let writer = StoreWriter(RecordingStore(record))
        for turn in 0..<20 {
            for number in 1...10 { writer.add(group(100 * turn + number)) }
            let result = try writer.commit(adding: group(100 * turn + 11)).get()
            #expect(result.devices[device]?.stored == 11)
            #expect(writer.isIdle)
            #expect(record.committed.withLock { $0 } == (1...11).map { time(Double(100 * turn + $0)) })
        }
    }

    @Test("queued groups are committed without a last group")
    func emptyLastGroup() throws {
        let writer = StoreWriter(RecordingStore(record))
        writer.add(group(1))
        #expect(try writer.commit(adding: IngestGroup()).get().devices[device]?.stored == 1)
        #expect(record.committed.withLock { $0 } == [time(1)])
    }

    @Test("a failure is returned once, groups are skipped until the commit, and the next transaction succeeds")
    func failure() throws {
        let writer = StoreWriter(RecordingStore(record))
        record.failsAt.withLock { $0 = time(2) }
        for number in 1...3 { writer.add(group(number)) }
        #expect(throws: StoreError.self) { try writer.commit(adding: group(4)).get() }
        #expect(record.committed.withLock { $0 } == [])
        #expect(try writer.commit(adding: group(5)).get().devices[device]?.stored == 1)
        #expect(record.committed.withLock { $0 } == [time(5)])
    }

    @Test("the store's maintenance runs once after each commit that requests it")
    func maintenance() async throws {
        let writer = StoreWriter(RecordingStore(record))
        writer.performMaintenance()
        _ = try writer.commit(adding: group(1)).get()
        writer.performMaintenance()
        #expect(try writer.commit(adding: IngestGroup()).get().devices.isEmpty)
        #expect(record.maintenanceCount.withLock { $0 } == 0)
        record.needsMaintenance.withLock { $0 = true }
        _ = try writer.commit(adding: group(2)).get()
        writer.performMaintenance()
        writer.performMaintenance()
        await expectEventually { writer.isIdle }
        #expect(record.maintenanceCount.withLock { $0 } == 1)
    }

    private func group(_ number: Int) -> IngestGroup { IngestGroup(seen: [device: time(Double(number))]) }
}

/// A store that records what it writes.
private final class RecordingStore: SampleStore {
    final class Record: Sendable {
        /// The times of the groups in the last transaction.
        let committed = Mutex<[Timestamp]>([])
        /// The time of the group that cannot be written.
        let failsAt = Mutex<Timestamp?>(nil)
        let needsMaintenance = Mutex(false)
        let maintenanceCount = Mutex(0)
    }

    private let record: Record
    private var added: [Timestamp] = []

    init(_ record: Record) { self.record = record }

    func add(_ group: IngestGroup) throws {
        if let time = record.failsAt.withLock({ $0 }), group.seen.values.contains(time) {
            added = []
            throw StoreError(.other, "test failure")
        }
        added += group.seen.values
    }

    func commit() throws -> IngestResult {
        defer { added = [] }
        record.committed.withLock { $0 = added }
        return IngestResult(devices: added.isEmpty ? [:] : [device: .init(stored: added.count)])
    }

    var needsMaintenance: Bool { record.needsMaintenance.withLock { $0 } }

    func performMaintenance() { record.maintenanceCount.withLock { $0 += 1 } }

    func lifecycles() -> [DeviceAddress: LifecycleSnapshot] { [:] }
}
