import FoundationEssentials
import Glibc
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepAgent
@testable import LockstepGateway

@Suite("Gateway outbox", .temporaryFolder)
struct GatewayOutboxTests {
    private let path = TemporaryFolder.path + "/g.db"

    private func open(bytes: Int64 = 256 << 20) throws -> GatewayOutbox {
        try GatewayOutbox(path: path, limits: Outbox.Limits(bytes: bytes, age: .max))
    }

    /// Opens the outbox as after SIGKILL.
    private func openCopy() throws -> GatewayOutbox {
        let copy = TemporaryFolder.path + "/copy"
        for suffix in ["", "-wal", "-shm"] { unlink(copy + suffix) }
        for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix) }
        return try GatewayOutbox(path: copy)
    }

    private func block(_ times: Int64...) -> SampleBlock {
        var block = SampleBlock(stream: .battery)
        for time in times { block.append(time: Timestamp(microseconds: time), values: [0.5, 1]) }
        return block
    }

    private func address(_ name: String) -> DeviceAddress {
        DeviceAddress(group: .standard, device: DeviceID(unchecked: name))
    }

    private func index(_ name: String, in outbox: GatewayOutbox) -> Int {
        outbox.index(of: address(name), sender: ForeignName("owntracks", [name, "p"]))
    }

    private func accept(_ time: Int64, of device: Int, in outbox: GatewayOutbox) throws -> [BatchPosition] {
        try outbox.accept([.init(device: device, samples: block(time))], at: time).entries.map(\.position)
    }

    @Test("each device has its own epoch and numbers")
    func numbers() throws {
        let outbox = try open()
        let (a, b) = (index("a", in: outbox), index("b", in: outbox))
        let entries = try outbox.accept(
            [
                .init(device: a, samples: block(1)), .init(device: b, samples: block(2), isLate: true),
                .init(device: a, samples: block(3)),
            ], at: 0
        ).entries
        #expect(entries.map(\.position.seq) == [1, 1, 2])
        #expect(entries[0].position.epoch == entries[2].position.epoch)
        #expect(entries[0].position.epoch != entries[1].position.epoch)
        #expect(entries.map(\.isLate) == [false, true, false])
        #expect(entries[1].payload(isBacklog: false) == entries[1].payload(isBacklog: true), "late in both cases")
        let stored = try #require(try outbox.batches.entry(at: entries[2].position, of: a))
        #expect(stored.body == entries[2].body)
        let sameBody = try #require(try outbox.batches.entry(at: entries[1].position, of: b))
        #expect(sameBody.body != stored.body)
    }

    @Test(
        "a lost file is written again with batches, senders and filters; the error for another file names the gateway")
    func lostFile() throws {
        let outbox = try open()
        let a = index("a", in: outbox)
        #expect(try accept(1, of: a, in: outbox).map(\.seq) == [1])
        for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + suffix) }
        #expect(try outbox.replaceFilters(with: ["a/#"]) == [] && outbox.batches.takeRestoration() == .written)
        #expect(rename(path, path + "-moved") == 0)
        #expect(try accept(2, of: a, in: outbox).map(\.seq) == [2])
        unlink(path)
        try Data("something else".utf8).write(to: URL(filePath: path))
        let error = #expect(throws: OutboxError.self) { try accept(3, of: a, in: outbox) }
        #expect(error?.description.contains("this gateway still has its outbox open") == true)
        unlink(path)
        #expect(try accept(3, of: a, in: outbox).map(\.seq) == [3])
        let copy = try openCopy()
        #expect(copy.devices[0].pending.values.map(\.ranges) == [[1...3]] && copy.senders[0].name == "owntracks/a/p")
        #expect(try copy.replaceFilters(with: ["b/#"]) == ["a/#"])
    }

    @Test("after a restart, pending batches keep their numbers and new ones have a new epoch")
    func restart() throws {
        var first: [BatchPosition] = []
        do {
            let outbox = try open()
            let a = index("a", in: outbox)
            first = try accept(1, of: a, in: outbox) + accept(2, of: a, in: outbox)
            _ = try outbox.accept([], removing: [a: [first[0].epoch: SequenceSet([1...1])]], at: 3)
        }
        let outbox = try open()
        let a = try #require(outbox.devices.index(of: address("a")))
        #expect(outbox.senders[a].name == "owntracks/a/p")
        #expect(outbox.devices[a].pending == [first[1].epoch: SequenceSet([2...2])] && outbox.devices[a].epoch == nil)
        #expect(try outbox.batches.entry(at: first[1], of: a) != nil)
        let second = try accept(3, of: a, in: outbox)
        #expect(second[0].seq == 1 && second[0].epoch != first[0].epoch)
        #expect(outbox.devices[a].previousEpoch == first[0].epoch)
        // Nor is a row used again, although the newest ones were deleted.
        #expect(outbox.batches.contents.lastRow == 3)
    }

    @Test("a killed gateway sends at most what was acknowledged above the oldest pending batch again")
    func killed() throws {
        let outbox = try open()
        let devices = ["a", "b"].map { index($0, in: outbox) }
        var epochs: [Epoch] = []
        for time in 1...20 as ClosedRange<Int64> {
            let entries = try outbox.accept(devices.map { .init(device: $0, samples: block(time)) }, at: time).entries
            epochs = entries.map(\.position.epoch)
        }
        let numbers = SequenceSet([1...18])
        _ = try outbox.accept(
            [.init(device: 1, samples: block(21))], removing: [0: [epochs[0]: numbers], 1: [epochs[1]: numbers]], at: 21
        )
        let rows = try outbox.batches.database.integer("SELECT count(*) FROM entries")
        #expect(rows == 41, "their rows are deleted later")
        for copy in [outbox, try openCopy()] {
            #expect(copy.devices[0].pending == [epochs[0]: SequenceSet([19...20])])
            #expect(copy.devices[1].pending == [epochs[1]: SequenceSet([19...21])])
        }
        #expect(try outbox.batches.database.integer("SELECT count(*) FROM batches") == 5)
    }

    @Test("above the size limit the oldest batches of all devices are dropped, and the drops survive a restart")
    func sizeLimit() throws {
        var epochs: [Epoch?] = []
        do {
            let outbox = try open(bytes: 200)
            let (a, b) = (index("a", in: outbox), index("b", in: outbox))
            var dropped: Int64 = 0
            for time in 1...6 as ClosedRange<Int64> {
                let device = time.isMultiple(of: 2) ? b : a
                let accepted = try outbox.accept([.init(device: device, samples: block(time))], at: 0)
                dropped += accepted.dropped.samples
            }
            #expect(dropped == outbox.devices[a].droppedSamples + outbox.devices[b].droppedSamples && dropped >= 2)
            #expect(outbox.batches.bytes <= 200)
            epochs = [outbox.devices[a].epoch, outbox.devices[b].epoch]
        }
        let outbox = try open(bytes: 200)
        for (index, epoch) in epochs.enumerated() {
            let epoch = try #require(epoch)
            let numbers = try #require(outbox.devices[index].dropped[epoch])
            #expect(numbers.first == 1 && numbers.count == outbox.devices[index].droppedSamples)
            #expect(outbox.devices[index].pending[epoch]?.first == numbers.last.map { $0 + 1 })
        }
    }

    @Test("on a full disk, acknowledged batches are removed, none is dropped, and new ones that do not fit are refused")
    func fullDisk() throws {
        let outbox = try open()
        let a = index("a", in: outbox)
        let samples = SampleBlock(
            stream: .accelerometer, times: (0..<200).map { $0 },
            columns: (0..<3).map { _ in (0..<200).map { Double($0) / 7 } })
        for time in 1...60 as ClosedRange<Int64> {
            _ = try outbox.accept([.init(device: a, samples: samples)], at: time)
        }
        outbox.batches.checkpoint()
        outbox.batches.hasDiskSpace = { false }
        let database = outbox.batches.database
        try database.execute("PRAGMA max_page_count = \(try database.integer("PRAGMA page_count"))")
        let epoch = try #require(outbox.devices[a].epoch)
        let error = #expect(throws: OutboxError.self) {
            try outbox.accept((1...10).map { _ in .init(device: a, samples: samples) }, at: 61)
        }
        #expect(error?.isFull == true && outbox.devices[a].pending == [epoch: SequenceSet([1...60])])
        let accepted = try outbox.accept(
            (1...10).map { _ in .init(device: a, samples: samples) }, removing: [a: [epoch: SequenceSet([1...30])]],
            at: 62)
        #expect(accepted.entries.map(\.position.seq) == Array(61...70) && accepted.dropped == Outbox.Dropped())
        #expect(outbox.devices[a].pending == [epoch: SequenceSet([31...70])])
    }

    @Test("the outbox of an agent is refused, that of a gateway by an agent, and a second gateway too")
    func otherFiles() throws {
        let agent = TemporaryFolder.path + "/agent.db"
        _ = try Outbox(path: agent, owner: .agent(address("a")))
        #expect(throws: OutboxError.self) { try GatewayOutbox(path: agent) }
        let outbox = try open()
        let error = #expect(throws: OutboxError.self) { try open() }
        #expect(error?.description.contains("another gateway") == true && outbox.devices.count == 0)
        _ = try GatewayOutbox(path: TemporaryFolder.path + "/other.db")
        #expect(throws: OutboxError.self) {
            try Outbox(path: TemporaryFolder.path + "/other.db", owner: .agent(address("a")))
        }
    }
}
