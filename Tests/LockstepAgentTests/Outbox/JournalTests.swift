import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The journal", .temporaryFolder)
struct JournalTests {
    private var path: String { TemporaryFolder.path + "/outbox" }

    private func read() throws -> [Batch] {
        var batches: [Batch] = []
        try Journal.read(path: path) { batches.append($0) }
        return batches
    }

    @Test("the journal has every accepted batch in order, including removed ones")
    func everything() throws {
        do {
            let outbox = try openOutbox(limits: .init(age: 1000), keepsJournal: true)
            let old = outbox.epoch
            _ = try outbox.commit(appending: [block([1, 2]), block([1], .steps)], at: 0)
            try outbox.startEpoch()
            _ = try outbox.commit(appending: [block([3])], removing: [old: [1...1]], at: 1)
            _ = try outbox.commit(appending: [block([4])], at: 5000)
            let expected = [
                Batch(position: BatchPosition(epoch: old, seq: 1), samples: block([1, 2])),
                Batch(position: BatchPosition(epoch: old, seq: 2), samples: block([1], .steps)),
                Batch(position: BatchPosition(epoch: outbox.epoch, seq: 1), samples: block([3])),
                Batch(position: BatchPosition(epoch: outbox.epoch, seq: 2), samples: block([4])),
            ]
            // The agent runs, so the batches are still in the write-ahead log.
            #expect(try read() == expected)
        }
        #expect(try read().count == 4)
    }

    @Test("a dropped batch stays in the journal, and stays dropped after a restart")
    func dropped() throws {
        do {
            let outbox = try openOutbox(limits: .init(age: 1000), keepsJournal: true)
            _ = try outbox.commit(appending: [block([1])], at: 0)
            let dropped = try outbox.commit(appending: [block([2])], at: 5000).dropped
            #expect(dropped.batches == [0: [outbox.epoch: [1...1]]])
            #expect(outbox.pending == [outbox.epoch: [2...2]])
        }
        let again = try openOutbox()
        #expect(again.pending == [again.epoch: [2...2]])
        #expect(try read().map { $0.position?.seq } == [1, 2])
    }

    @Test("the journal is empty if the agent keeps none")
    func none() throws {
        _ = try openOutbox().commit(appending: [block([1])], at: 0)
        #expect(try read().isEmpty)
    }

    @Test("a missing file is an error")
    func missing() {
        let error = #expect(throws: OutboxError.self) { try Journal.read(path: path) { _ in } }
        #expect(error?.description.contains(path) == true)
    }

    @Test("a file that is not an outbox is an error")
    func noOutbox() throws {
        try SQLiteDatabase(path: path).execute("CREATE TABLE other (a)")
        let error = #expect(throws: OutboxError.self) { try Journal.read(path: path) { _ in } }
        #expect(error?.description.contains(path) == true)
    }

    @Test("a damaged page is reported as an error of the outbox by the journal and the history")
    func damaged() throws {
        do {
            let outbox = try openOutbox(keepsJournal: true)
            for number in 0..<200 as Range<Int64> {
                _ = try outbox.commit(appending: [block(number * 100..<number * 100 + 50)], at: number)
            }
        }
        var bytes = try Data(contentsOf: URL(filePath: path))
        // The first pages contain the schema and the oldest batches.
        bytes.replaceSubrange(20_000..., with: Data(repeating: 0x55, count: bytes.count - 20_000))
        try bytes.write(to: URL(filePath: path))
        let error = #expect(throws: OutboxError.self) { _ = try read() }
        #expect(error?.description.contains("damaged") == true)
        #expect(throws: OutboxError.self) {
            _ = try OutboxHistory(path: path).samples(of: .accelerometer, from: time(0), to: time(1))
        }
    }
}
