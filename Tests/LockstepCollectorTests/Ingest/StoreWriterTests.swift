import LockstepStore
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

    private func group(_ number: Int) -> IngestGroup { IngestGroup(seen: [device: time(Double(number))]) }
}
