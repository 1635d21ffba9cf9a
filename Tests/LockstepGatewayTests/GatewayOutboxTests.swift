import FoundationEssentials
import Glibc
import LockstepAgent
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepGateway

@Suite("Gateway outbox")
struct GatewayOutboxTests {
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

    @Test("each device has its own epoch and numbers")
    func numbers() async throws {
        try await withTemporaryFolder { folder in
            let outbox = try GatewayOutbox(path: folder + "/g.db")
            let (a, b) = (index("a", in: outbox), index("b", in: outbox))
            let entries = try outbox.commit([
                .init(device: a, samples: block(1), isLate: false), .init(device: b, samples: block(2), isLate: true),
                .init(device: a, samples: block(3), isLate: false),
            ]).entries
            #expect(entries.map(\.position.seq) == [1, 1, 2])
            #expect(entries[0].position.epoch == entries[2].position.epoch)
            #expect(entries[0].position.epoch != entries[1].position.epoch)
            #expect(entries.map(\.isLate) == [false, true, false])
            let stored = try #require(try outbox.entry(at: entries[2].position, of: a))
            #expect(stored.payload == entries[2].payload)
        }
    }

    @Test("the file is written again with all batches if it was removed or moved, but another file is not overwritten")
    func lostFile() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/g.db"
            let outbox = try GatewayOutbox(path: path)
            let a = index("a", in: outbox)
            func commit(_ time: Int64) throws -> [Int64] {
                try outbox.commit([.init(device: a, samples: block(time), isLate: false)]).entries.map(\.position.seq)
            }
            #expect(try commit(1) == [1])
            for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + suffix) }
            #expect(try commit(2) == [2])
            #expect(outbox.takeRestoration() == .written && outbox.takeRestoration() == nil)
            #expect(rename(path, path + "-moved") == 0)
            #expect(try commit(3) == [3])
            unlink(path)
            try Data("something else".utf8).write(to: URL(filePath: path))
            let error = #expect(throws: OutboxError.self) { try commit(4) }
            #expect(error?.description.contains("this gateway still has its outbox open") == true)
            unlink(path)
            #expect(try commit(4) == [4] && outbox.takeRestoration() == .written)
            // As after SIGKILL.
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: folder + "/copy" + suffix)
            }
            let copy = try GatewayOutbox(path: folder + "/copy")
            let pending = try #require(copy.devices.index(of: address("a")).map { copy.devices[$0].pending })
            #expect(pending.values.map(\.ranges) == [[1...4]])
            #expect(copy.devices.hasSameBatches(as: outbox.devices))
            #expect(try commit(5) == [5] && outbox.takeRestoration() == nil)
            #expect(!copy.devices.hasSameBatches(as: outbox.devices))
        }
    }

    @Test("neither batches nor filters are written to the earlier file if only the statements could not be prepared")
    func statements() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/g.db"
            let outbox = try GatewayOutbox(path: path)
            let a = index("a", in: outbox)
            unlink(path)
            #expect(try outbox.file.restore() == .written)
            _ = try outbox.commit([.init(device: a, samples: block(1), isLate: false)])
            unlink(path)
            #expect(try outbox.replaceFilters(with: ["a/#"]) == [] && outbox.takeRestoration() == .written)
            // As after SIGKILL.
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: folder + "/copy" + suffix)
            }
            let copy = try GatewayOutbox(path: folder + "/copy")
            #expect(copy.devices.hasSameBatches(as: outbox.devices))
            #expect(try copy.replaceFilters(with: ["b/#"]) == ["a/#"])
        }
    }

    @Test("after a restart, pending batches keep their numbers and new ones have a new epoch")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/g.db"
            var first: [GatewayOutbox.Entry] = []
            do {
                let outbox = try GatewayOutbox(path: path)
                let a = index("a", in: outbox)
                first = try outbox.commit([
                    .init(device: a, samples: block(1), isLate: false),
                    .init(device: a, samples: block(2), isLate: false),
                ]).entries
                _ = try outbox.commit([], removing: [a: [first[0].position.epoch: SequenceSet([1...1])]])
            }
            let outbox = try GatewayOutbox(path: path)
            let a = try #require(outbox.devices.index(of: address("a")))
            #expect(outbox.devices[a].sender == "owntracks/a/p")
            #expect(outbox.devices[a].pending == [first[1].position.epoch: SequenceSet([2...2])])
            #expect(try outbox.entry(at: first[1].position, of: a)?.payload == first[1].payload)
            let second = try outbox.commit([.init(device: a, samples: block(3), isLate: false)]).entries
            #expect(second[0].position.seq == 1)
            #expect(second[0].position.epoch != first[0].position.epoch)
            #expect(outbox.devices[a].previousEpoch == first[0].position.epoch)
        }
    }

    @Test("above the size limit the oldest batches are dropped, and the drops survive a restart")
    func sizeLimit() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/g.db"
            var epoch: Epoch?
            do {
                let outbox = try GatewayOutbox(path: path, maxBytes: 250)
                let a = index("a", in: outbox)
                var dropped: Int64 = 0
                for time in 1...5 {
                    let result = try outbox.commit([.init(device: a, samples: block(Int64(time)), isLate: false)])
                    dropped += result.dropped.samples
                    epoch = result.entries.first?.position.epoch
                }
                #expect(dropped == outbox.devices[a].droppedSamples)
                #expect(dropped >= 2)
                #expect(outbox.bytes <= 250)
            }
            let outbox = try GatewayOutbox(path: path, maxBytes: 250)
            let numbers = outbox.devices[0].dropped[try #require(epoch)]
            #expect(numbers?.first == 1)
            #expect(numbers?.count == outbox.devices[0].droppedSamples)
            #expect(outbox.devices[0].pending[try #require(epoch)]?.first == numbers?.last.map { $0 + 1 })
        }
    }

    @Test("the outbox of an agent is refused, and a second gateway too")
    func otherFiles() async throws {
        try await withTemporaryFolder { folder in
            _ = try Outbox(path: folder + "/agent.db")
            #expect(throws: OutboxError.self) { try GatewayOutbox(path: folder + "/agent.db") }
            let outbox = try GatewayOutbox(path: folder + "/g.db")
            #expect(throws: OutboxError.self) { try GatewayOutbox(path: folder + "/g.db") }
            #expect(outbox.devices.count == 0)
        }
    }

    @Test("sessions increase, also after a restart with a wrong clock")
    func sessions() async throws {
        try await withTemporaryFolder { folder in
            let first = try GatewayOutbox(path: folder + "/g.db").startSession(at: Timestamp(microseconds: 1000))
            #expect(first == 1000)
            #expect(try GatewayOutbox(path: folder + "/g.db").startSession(at: Timestamp(microseconds: 5)) == 1001)
        }
    }
}
