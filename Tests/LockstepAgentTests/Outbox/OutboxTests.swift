import FoundationEssentials
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import LockstepWire
import SensorTestSupport
import Testing

@testable import LockstepAgent

/// Opens the outbox in the test's folder. Its lock ends with the scope.
///
/// It is not a `withOutbox { }` function, because Swift 6.3 may run the wrong closure of macros inside a closure.
func openOutbox(limits: Outbox.Limits = .init(), keepsJournal: Bool = false) throws -> Outbox {
    try Outbox(path: TemporaryFolder.path + "/outbox", limits: limits, keepsJournal: keepsJournal)
}

extension Outbox {
    convenience init(
        path: String, device: DeviceAddress? = nil, limits: Limits = Limits(), encoding: BatchEncoding = .json,
        keepsJournal: Bool = false, streams: StreamCatalog = .builtIn, clock: OutboxClock = .now()
    ) throws {
        let address = device ?? DeviceAddress(group: .standard, device: DeviceID(unchecked: "pi"))
        try self.init(
            path: path, owner: .agent(address), limits: limits, encoding: encoding, keepsJournal: keepsJournal,
            streams: streams, clock: clock)
    }

    func commit(
        appending blocks: [SampleBlock], removing removed: [Epoch: SequenceSet] = [:], at boot: Int64
    ) throws -> (entries: [Entry], dropped: Dropped) {
        try commit(blocks.map { Addition(samples: $0) }, removing: [0: removed], at: boot)
    }

    func accept(
        _ blocks: [SampleBlock], removing removed: [Epoch: SequenceSet] = [:], at boot: Int64
    ) throws -> Accepted {
        try accept(blocks.map { Addition(samples: $0) }, removing: [0: removed], at: boot)
    }

    /// The numbers of the dropped batches of the current epoch.
    var droppedBatches: SequenceSet { devices[0].dropped[epoch] ?? [] }

    /// The numbers of the unpublished batches, whose rows are those numbers in the first epoch of an outbox.
    var unpublishedSeqs: SequenceSet { contents.unpublished.rows }
}

/// Returns the wall time `microseconds` after `start`.
func time(_ microseconds: Int64) -> Timestamp { Timestamp(microseconds: start + microseconds) }

@Suite("The outbox", .temporaryFolder)
struct OutboxTests {
    @Test("batches are numbered from 1 without gaps, and a restart keeps epoch and numbers")
    func numbering() throws {
        let (epoch, first) = try acceptFirst()
        #expect(first.map(\.position) == [BatchPosition(epoch: epoch, seq: 1), BatchPosition(epoch: epoch, seq: 2)])
        #expect(first.map(\.stream) == [.accelerometer, .steps])
        for number in 3...6 as ClosedRange<Int64> {
            let entries = try openOutbox().commit(appending: [block([number])], at: 0).entries
            #expect(entries.map(\.position) == [BatchPosition(epoch: epoch, seq: number)])
        }
        // The numbers of removed batches are not used again.
        let outbox = try openOutbox()
        _ = try outbox.commit(appending: [], removing: [epoch: [1...6]], at: 0)
        #expect(outbox.bytes == 0)
        let last = try outbox.commit(appending: [block([7])], at: 0).entries
        #expect(last.map(\.position.seq) == [7])
    }

    private func acceptFirst() throws -> (epoch: Epoch, entries: [Outbox.Entry]) {
        let outbox = try openOutbox()
        return (outbox.epoch, try outbox.commit(appending: [block([1]), block([2], .steps)], at: 0).entries)
    }

    @Test("the outbox holds the payloads of batches until they are removed")
    func holding() throws {
        let samples = block([1, 2, 4])
        let entries = try openOutbox().commit(appending: [samples, samples], at: 0).entries
        do {
            let outbox = try openOutbox()
            let epoch = outbox.epoch
            #expect(outbox.pending == [epoch: [1...2]])
            #expect(outbox.bytes == entries.reduce(0) { $0 + Int64($1.body.count) })
            let entry = try #require(try outbox.entry(at: BatchPosition(epoch: epoch, seq: 2)))
            #expect(entry.body == entries[1].body)
            let batch = try BatchJSON.decode(Data(entry.payload(isBacklog: false)), stream: entry.stream)
            #expect(batch == Batch(position: BatchPosition(epoch: epoch, seq: 2), samples: samples))
            _ = try outbox.commit(
                appending: [], removing: [epoch: [2...2, 50...60], Epoch(unchecked: "x"): [1...9]], at: 0)
            #expect(outbox.pending == [epoch: [1...1]])
            #expect(outbox.bytes == Int64(entries[0].body.count))
            #expect(try outbox.entry(at: BatchPosition(epoch: epoch, seq: 2)) == nil)
        }
    }

    @Test("a new epoch numbers its batches from 1 and keeps the batches of the old epoch")
    func epochs() throws {
        let old: Epoch
        let new: Epoch
        do {
            let outbox = try openOutbox()
            old = outbox.epoch
            #expect(outbox.devices[0].previousEpoch == nil)
            _ = try outbox.commit(appending: [block([1]), block([2])], at: 0)
            try outbox.startEpoch()
            let entries = try outbox.commit(appending: [block([1])], at: 0).entries
            #expect(entries.map(\.position) == [BatchPosition(epoch: outbox.epoch, seq: 1)])
            new = outbox.epoch
        }
        #expect(old != new)
        do {
            let outbox = try openOutbox()
            #expect(outbox.epoch == new && outbox.devices[0].previousEpoch == old)
            #expect(outbox.pending == [old: [1...2], new: [1...1]])
            let entries = try outbox.commit(appending: [block([2])], at: 0).entries
            #expect(entries.map(\.position.seq) == [2])
        }
    }

    @Test("session numbers increase, even if the clock goes back")
    func sessions() throws {
        let first = try openOutbox().startSession(at: time(5))
        #expect(first == start + 5)
        do {
            let outbox = try openOutbox()
            #expect(try outbox.startSession(at: time(5)) == start + 6)
            #expect(try outbox.startSession(at: time(-1000)) == start + 7)
        }
        do {
            let outbox = try openOutbox()
            #expect(try outbox.startSession(at: time(0)) == start + 8)
            #expect(try outbox.startSession(at: time(900)) == start + 900)
        }
    }

    @Test("a failed commit changes nothing, and numbers have no gaps")
    func failedCommit() throws {
        do {
            let outbox = try openOutbox()
            _ = try outbox.commit(appending: [block([1])], at: 0)
            let other = try SQLiteDatabase(path: TemporaryFolder.path + "/outbox")
            try other.execute(
                "CREATE TRIGGER trap BEFORE INSERT ON entries WHEN new.id = 3 BEGIN SELECT RAISE(ABORT, 'trap'); END")
            let bytes = outbox.bytes
            let error = #expect(throws: OutboxError.self) {
                try outbox.commit(
                    appending: [block([2]), block([3])], removing: [outbox.epoch: [1...1]], at: 0)
            }
            #expect(error?.isFull == false)
            #expect(outbox.bytes == bytes)
            #expect(outbox.pending == [outbox.epoch: [1...1]])
            try other.execute("DROP TRIGGER trap")
            let entries = try outbox.commit(appending: [block([2]), block([3])], at: 0).entries
            #expect(entries.map(\.position.seq) == [2, 3])
        }
    }
}

@Suite("The limits of the outbox", .temporaryFolder)
struct OutboxLimitTests {
    private var size: Int64 {
        Int64(BatchJSON.encode(Batch(position: nil, samples: block([start, start + 1]))).count)
    }

    @Test("the size limit drops the oldest batches and counts them across restarts")
    func bySize() throws {
        do {
            let outbox = try openOutbox(limits: .init(bytes: 3 * size))
            for number in 1...3 as ClosedRange<Int64> {
                let result = try outbox.commit(appending: [block([start, start + 1])], at: number)
                #expect(result.dropped == Outbox.Dropped())
            }
            let (entries, dropped) = try outbox.commit(
                appending: [block([start, start + 1]), block([start, start + 1])], at: 4)
            #expect(entries.map(\.position.seq) == [4, 5])
            #expect(dropped.batches == [0: [outbox.epoch: [1...2]]])
            #expect(dropped.samples == 4 && dropped.agedSamples == 0)
            #expect(outbox.pending == [outbox.epoch: [3...5]])
            #expect(outbox.bytes == 3 * size)
        }
        do {
            let outbox = try openOutbox(limits: .init(bytes: 3 * size))
            #expect(outbox.droppedSamples == 4)
            #expect(outbox.droppedBatches == [1...2])
            _ = try outbox.commit(appending: [], removing: [outbox.epoch: [3...3]], at: 5)
            _ = try outbox.commit(appending: [block([start, start + 1]), block([start, start + 1])], at: 6)
            #expect(outbox.droppedBatches == [1...2, 4...4])
            #expect(outbox.droppedSamples == 6)
        }
    }

    @Test("a new batch above the size limit is dropped and not returned for publication")
    func tooLarge() throws {
        do {
            let outbox = try openOutbox(limits: .init(bytes: size - 1))
            let (entries, dropped) = try outbox.commit(appending: [block([start, start + 1])], at: 0)
            #expect(entries.isEmpty)
            #expect(dropped.batches == [0: [outbox.epoch: [1...1]]])
            #expect(outbox.bytes == 0)
            #expect(outbox.pending == [:])
            let next = try outbox.commit(appending: [block([1])], at: 0)
            #expect(next.entries.map(\.position.seq) == [2])
        }
    }

    @Test("a commit drops batches above the age limit")
    func byAge() throws {
        do {
            let outbox = try openOutbox(limits: .init(age: 1000))
            _ = try outbox.commit(appending: [block([1, 2, 3])], at: 0)
            _ = try outbox.commit(appending: [block([4])], at: 500)
            #expect(try outbox.commit(appending: [], at: 1000).dropped == Outbox.Dropped())
            let dropped = try outbox.commit(appending: [], at: 1001).dropped
            #expect(dropped.batches == [0: [outbox.epoch: [1...1]]] && dropped.samples == 3 && dropped.agedSamples == 3)
            #expect(outbox.pending == [outbox.epoch: [2...2]])
        }
    }

    @Test("dropped batches are recorded with their own epoch")
    func epochs() throws {
        var size: Int64 = 0
        do { size = Int64(try openOutbox().commit(appending: [block([1])], at: 0).entries[0].body.count) }
        // The limit allows one batch.
        let outbox = try openOutbox(limits: .init(bytes: size + size / 2))
        let old = outbox.epoch
        try outbox.startEpoch()
        let dropped = try outbox.commit(appending: [block([1])], at: 0).dropped
        #expect(dropped.batches == [0: [old: [1...1]]])
        #expect(outbox.droppedBatches.isEmpty)
        #expect(outbox.devices[0].dropped == [old: [1...1]])
        #expect(outbox.droppedSamples == 1)
    }
}
