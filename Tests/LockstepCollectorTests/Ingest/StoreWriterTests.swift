import LockstepModel
import LockstepStore
import Synchronization
import Testing

@testable import LockstepCollector

@Suite("The store's writer")
struct StoreWriterTests {
    @Test("writes groups in the order in which they were begun, and gives each its own outcome")
    func order() throws {
        let record = RecordingStore.Record()
        let writer = StoreWriter(RecordingStore(record))
        #expect(writer.finish().map(\.group.seen) == nil)
        for number in 1...100 {
            writer.begin(group(number))
            // What the owner prepares meanwhile is its own.
            let next = group(-number)
            let outcome = try #require(writer.finish())
            #expect(outcome.group.seen == group(number).seen)
            #expect((try? outcome.result.get()) == RecordingStore.result(of: group(number)))
            let direct = try writer.write(next).result.get()
            #expect(direct == RecordingStore.result(of: next))
        }
        #expect(writer.finish().map(\.group.seen) == nil)
        #expect(record.written.withLock { $0 } == (1...100).flatMap { [time(Double($0)), time(Double(-$0))] })
    }

    @Test("tells of a failure, and goes on")
    func failure() throws {
        let record = RecordingStore.Record()
        let writer = StoreWriter(RecordingStore(record))
        let error = StoreError(.other, "broken on purpose")
        record.failure.withLock { $0 = error }
        writer.begin(group(1))
        let outcome = try #require(writer.finish())
        #expect(outcome.group.seen == group(1).seen)
        #expect(throws: StoreError.self) { try outcome.result.get() }
        #expect(throws: StoreError.self) { try writer.write(group(2)).result.get() }
        record.failure.withLock { $0 = nil }
        #expect(try writer.write(group(3)).result.get() == RecordingStore.result(of: group(3)))
        #expect(record.written.withLock { $0 } == [time(3)])
    }

    private func group(_ number: Int) -> IngestGroup { IngestGroup(seen: [device: time(Double(number))]) }
}

/// A store that remembers what it was given, elsewhere.
private final class RecordingStore: SampleStore {
    final class Record: Sendable {
        let written = Mutex<[Timestamp]>([])
        let failure = Mutex<StoreError?>(nil)
    }

    private let record: Record

    init(_ record: Record) { self.record = record }

    func write(_ group: IngestGroup) throws -> IngestResult {
        if let failure = record.failure.withLock({ $0 }) { throw failure }
        record.written.withLock { $0 += group.seen.values }
        return Self.result(of: group)
    }

    func lifecycles() -> [DeviceAddress: LifecycleSnapshot] { [:] }

    static func result(of group: IngestGroup) -> IngestResult {
        IngestResult(devices: group.seen.mapValues { .init(stored: Int($0.microseconds / 1_000_000)) })
    }
}
