import FoundationEssentials
import LockstepModel
import LockstepTestSupport
import LockstepWire
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("An outbox restored from an older copy", .temporaryFolder)
struct RestoredOutboxTests {
    /// Returns an outbox with batches 1 to `count`, none of them published.
    private func outbox(holding count: Int) throws -> Outbox {
        let outbox = try openOutbox()
        for number in 0..<count {
            _ = try outbox.commit(appending: [block([Int64(number)])], at: Int64(number))
        }
        return outbox
    }

    private func publish(_ batches: ClosedRange<Int64>, of outbox: Outbox) {
        for seq in batches { outbox.didPublish(BatchPosition(epoch: outbox.epoch, seq: seq)) }
    }

    @Test("an acknowledgement of numbers not assigned yet shows that the outbox is older")
    func unassignedNumbers() throws {
        let outbox = try outbox(holding: 5)
        publish(1...5, of: outbox)
        #expect(outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 6)))
        #expect(outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 1, missing: [2...8], highest: 9)))
        #expect(!outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 5)))
        #expect(!outbox.isOlder(than: Acknowledgement(epoch: Epoch(unchecked: "other"), through: 6)))
    }

    @Test("an acknowledgement of an unpublished batch shows that the outbox is older")
    func unpublished() throws {
        let outbox = try outbox(holding: 5)
        publish(1...2, of: outbox)
        publish(5...5, of: outbox)
        #expect(outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 3)))
        #expect(!outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 2)))
        #expect(!outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 2, missing: [3...4], highest: 5)))
    }

    @Test("an outbox whose agent was killed while publishing backlog is not mistaken for an older one")
    func killedWhileSending() throws {
        let epoch: Epoch
        do {
            let outbox = try outbox(holding: 5)
            epoch = outbox.epoch
            try outbox.willSendBacklog()
            publish(1...5, of: outbox)
        }
        #expect(try !openOutbox().isOlder(than: Acknowledgement(epoch: epoch, through: 5)))
    }

    @Test("an outbox whose agent was killed after publishing new batches is not mistaken for an older one")
    func killedAfterPublishing() throws {
        let outbox = try outbox(holding: 2)
        publish(1...2, of: outbox)
        _ = try outbox.commit(appending: [block([2])], removing: [outbox.epoch: [1...2]], at: 2)
        publish(3...3, of: outbox)
        // This commit also deletes the rows of batches 1 and 2, and therefore saves the state.
        _ = try outbox.commit(appending: [block([3])], at: 2 + AcknowledgedRows.deletionDelay)
        publish(4...4, of: outbox)
        let again = try Outbox(path: try copyOutbox())
        #expect(again.pending == [outbox.epoch: [3...4]])
        #expect(!again.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 4)))
    }

    @Test("an outbox whose agent was killed while batches are dropped is not mistaken for an older one")
    func killedWhileDropping() throws {
        let outbox = try openOutbox(limits: .init(bytes: 300))
        for number in 1...10 as ClosedRange<Int64> {
            _ = try outbox.commit(appending: [block([number])], at: number)
            publish(number...number, of: outbox)
        }
        #expect(!outbox.droppedBatches.isEmpty)
        let again = try Outbox(path: try copyOutbox())
        #expect(!again.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: 10)))
    }

    @Test("an acknowledgement of dropped batches does not make the outbox look older")
    func dropped() throws {
        let outbox = try openOutbox(limits: .init(bytes: 300))
        for number in 0..<10 { _ = try outbox.commit(appending: [block([Int64(number)])], at: Int64(number)) }
        let last = try #require(outbox.droppedBatches.last)
        #expect(last >= 1)
        #expect(!outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: last)))
        #expect(outbox.isOlder(than: Acknowledgement(epoch: outbox.epoch, through: last + 1)))
    }

    @Test("batches get numbers of a new epoch, except those listed as missing, and keep their samples")
    func renumbering() throws {
        let outbox = try outbox(holding: 5)
        let old = outbox.epoch
        var moved = 0
        let ack = Acknowledgement(epoch: old, through: 1, missing: [2...3], highest: 9)
        try outbox.startEpoch(after: ack) { moved += 1 }
        let new = outbox.epoch
        #expect(moved == 3)
        #expect(new != old && outbox.devices[0].previousEpoch == old)
        #expect(outbox.pending == [old: [2...3], new: [1...3]])
        for (seq, number) in [(1, 0), (2, 3), (3, 4)] as [(Int64, Int64)] {
            let position = BatchPosition(epoch: new, seq: seq)
            let entry = try #require(try outbox.entry(at: position))
            let batch = try BatchJSON.decode(Data(entry.payload(isBacklog: false)), stream: entry.stream)
            #expect(batch == Batch(position: position, samples: block([number])))
        }
        let held = try outbox.pending.flatMap { epoch, batches in
            try batches.lowest(10).map {
                try outbox.entry(at: BatchPosition(epoch: epoch, seq: $0))?.body.count ?? 0
            }
        }
        #expect(outbox.bytes == Int64(held.reduce(0, +)))
        let next = try outbox.commit(appending: [block([9])], at: 9).entries
        #expect(next.map(\.position) == [BatchPosition(epoch: new, seq: 4)])
        #expect(!outbox.isOlder(than: Acknowledgement(epoch: old, through: 1, missing: [2...3], highest: 9)))
    }

    @Test("after a kill, acknowledged batches stay removed, and the journal has each batch once")
    func killed() throws {
        let outbox = try openOutbox(keepsJournal: true)
        let old = outbox.epoch
        _ = try outbox.commit(appending: [block([1]), block([2])], at: 0)
        // Batches 1 and 2 are acknowledged, but their rows remain. The row of batch 5 records this.
        _ = try outbox.commit(
            appending: [block([3]), block([4]), block([5])], removing: [old: [1...2]], at: 1)
        try outbox.startEpoch(after: Acknowledgement(epoch: old, through: 4, missing: [5...5], highest: 9))
        let again = try Outbox(path: try copyOutbox(), keepsJournal: true)
        #expect(again.pending == [old: [5...5], outbox.epoch: [1...2]] && outbox.pending == again.pending)
        #expect(again.bytes == outbox.bytes && again.unpublishedSeqs.isEmpty)
        var times: [Int64] = []
        try Journal.read(path: again.path) { times += $0.samples.times }
        #expect(times == [1, 2, 3, 4, 5])
    }

    @Test("a batch of unknown age keeps it when it gets a new number")
    func unknownAge() throws {
        func open(_ bootID: String) throws -> Outbox {
            try Outbox(
                path: TemporaryFolder.path + "/outbox", limits: .init(age: 1000),
                clock: OutboxClock(bootID: bootID, wall: time(0), offset: 0))
        }
        do { _ = try open("first").commit(appending: [block([1])], at: 0) }
        // The machine was restarted.
        let outbox = try open("second")
        try outbox.startEpoch(after: Acknowledgement(epoch: outbox.epoch, through: 9))
        _ = try outbox.commit(appending: [block([2])], at: 0)
        #expect(try outbox.commit(appending: [], at: 5000).dropped == Outbox.Dropped())
        _ = try outbox.commit(appending: [], removing: [outbox.epoch: [1...1]], at: 0)
        #expect(try outbox.commit(appending: [], at: 5000).dropped.batches == [0: [outbox.epoch: [2...2]]])
    }

    @Test("a restart keeps the new epoch and its numbers")
    func keptAcrossRestart() throws {
        let epoch: Epoch
        do {
            let outbox = try outbox(holding: 3)
            try outbox.startEpoch(after: Acknowledgement(epoch: outbox.epoch, through: 7))
            epoch = outbox.epoch
        }
        let again = try openOutbox()
        #expect(again.epoch == epoch)
        #expect(try again.commit(appending: [block([9])], at: 9).entries.map(\.position.seq) == [4])
    }

    @Test("a batch of a stream that is not declared any more gets a new number too", arguments: BatchEncoding.allCases)
    func undeclaredStream(encoding: BatchEncoding) throws {
        let stream = try SensorStream(declaring: "x/co2", columns: [.init(declaring: "ppm", kind: .real)])
        let samples = SampleBlock(stream: stream, times: [start, start + 5], columns: [[400, 410.5]])
        let path = TemporaryFolder.path + "/outbox"
        do {
            let outbox = try Outbox(
                path: path, encoding: encoding, streams: StreamCatalog(declared: [stream]))
            _ = try outbox.commit(appending: [samples], at: 0)
        }
        let outbox = try openOutbox()
        try outbox.startEpoch(after: Acknowledgement(epoch: outbox.epoch, through: 7))
        #expect(outbox.pending == [outbox.epoch: [1...1]])
        let position = BatchPosition(epoch: outbox.epoch, seq: 1)
        let entry = try #require(try outbox.entry(at: position))
        let batch = try BatchEncoding.decode(Data(entry.payload(isBacklog: false)), stream: stream)
        #expect(batch == Batch(position: position, samples: samples))
    }
}
