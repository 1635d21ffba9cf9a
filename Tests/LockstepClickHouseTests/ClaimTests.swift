import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite(
    "Claims of a store in ClickHouse", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct ClaimTests {
    @Test("what an earlier owner writes about states after a takeover is ignored, and its samples count")
    func fenced() async throws {
        try await withClickHouse { server in
            let old = try open(server)
            try old.takeOver(token(1)) { _ in true }
            try old.write(group(seq: 1, state: .active, samples: [1]))
            try old.write(group(seq: 2, state: .inactive, samples: [2]))
            let new = try open(server)
            try new.takeOver(token(2)) { _ in true }
            #expect(new.lifecycles()[device]?.last?.seq == 2)

            // The old owner continues as if nothing had happened.
            try old.write(group(seq: 3, state: .background, samples: [3]))
            try old.write(group(seq: 4, state: .terminated, samples: [4]))
            old.close()
            #expect(try await states(server) == ["1\tactive", "2\tinactive"])
            #expect(try await server.execute("SELECT state, state_seq FROM devices") == ["inactive\t2"])
            #expect(try await server.execute("SELECT t FROM accelerometer ORDER BY t") == ["1", "2", "3", "4"])

            try new.write(group(seq: 3, state: .active, samples: [3]))
            try old.write(group(seq: 5, state: .terminated, samples: [5]))
            for _ in 0..<2 {
                #expect(try await states(server) == ["1\tactive", "2\tinactive", "3\tactive"])
                #expect(try await server.execute("SELECT state, state_seq FROM devices") == ["active\t3"])
                #expect(try await server.execute("SELECT count() FROM accelerometer") == ["5"])
                try await server.execute("OPTIMIZE TABLE received_states FINAL")
                try await server.execute("OPTIMIZE TABLE received_devices FINAL")
            }
            let third = try open(server)
            try third.takeOver(token(3)) { _ in true }
            #expect(third.lifecycles()[device]?.last?.seq == 3)
            // Numbers of both owners: none of them has to be sent again.
            let result = try third.write(IngestGroup(batches: [batch([6], seq: 6)]))
            #expect(result.received[scope] == SequenceSet([1...6]))
        }
    }

    @Test("a store of a single collector can be taken over, and given back")
    func single() async throws {
        try await withClickHouse { server in
            let single = try open(server)
            try single.write(group(seq: 1, state: .active, samples: [1]))
            single.close()
            let owner = try open(server)
            try owner.takeOver(token(1)) { _ in true }
            try owner.write(group(seq: 2, state: .inactive, samples: [2]))
            owner.close()
            try single.write(group(seq: 2, state: .terminated, samples: [2]))
            #expect(try await states(server) == ["1\tactive", "2\tinactive"])
            let again = try open(server)
            #expect(again.lifecycles()[device]?.last?.seq == 2)
            try again.write(group(seq: 3, state: .active, samples: [3]))
            #expect(try await states(server) == ["1\tactive", "2\tinactive", "3\tactive"])
        }
    }

    @Test("an owner takes over only its devices")
    func scopes() async throws {
        try await withClickHouse { server in
            let one = try open(server)
            try one.takeOver(token(5)) { $0.group.rawValue == "lab" }
            try one.write(group(seq: 1, state: .active, samples: [1]))
            let other = try open(server)
            try other.takeOver(token(9)) { $0.group.rawValue != "lab" }
            #expect(other.lifecycles().isEmpty)
            try one.write(group(seq: 2, state: .inactive, samples: [2]))
            #expect(try await states(server) == ["1\tactive", "2\tinactive"])
        }
    }

    @Test("a takeover with a token that is not higher than those of its devices is refused, and says which is needed")
    func lowToken() async throws {
        try await withClickHouse { server in
            let one = try open(server)
            try one.takeOver(token(5)) { _ in true }
            try one.write(group(seq: 1, state: .active, samples: [1]))
            for number in [4, 5] as [UInt32] {
                let other = try open(server)
                #expect(needed { try other.takeOver(token(number)) { _ in true } } == token(6))
            }
            // The devices of others do not matter.
            try open(server).takeOver(token(4)) { $0.group.rawValue != "lab" }
            try one.write(group(seq: 2, state: .inactive, samples: [2]))
            #expect(try await states(server) == ["1\tactive", "2\tinactive"])
            let next = try open(server)
            try next.takeOver(token(6)) { _ in true }
            try next.write(group(seq: 3, state: .active, samples: [3]))
            #expect(try await states(server) == ["1\tactive", "2\tinactive", "3\tactive"])
            let last = try open(server)
            try last.takeOver(FencingToken(rawValue: .max)) { _ in true }
            let none = try open(server)
            #expect(throws: StoreError.self) { try none.takeOver(FencingToken(rawValue: .max)) { _ in true } }
        }
    }

    @Test("a token that is lower than the versions of a single collector is refused")
    func earlyClock() async throws {
        try await withClickHouse { server in
            try open(server).write(group(seq: 1, state: .active, samples: [1]))
            let store = try open(server)
            let lowest = FencingToken(rawValue: 1 << 28)
            #expect(needed { try store.takeOver(FencingToken(rawValue: 1000)) { _ in true } } == lowest)
            try store.takeOver(lowest) { _ in true }
            try store.write(group(seq: 2, state: .inactive, samples: [2]))
            #expect(try await states(server) == ["1\tactive", "2\tinactive"])
        }
    }

    /// Returns the token that a refused takeover needs.
    private func needed(_ takeOver: () throws -> Void) -> FencingToken? {
        do { try takeOver() } catch { return (error as? StoreError)?.neededToken }
        return nil
    }

    private func states(_ server: TestClickHouse) async throws -> [String] {
        try await server.execute("SELECT seq, state FROM states ORDER BY seq")
    }

    private func open(_ server: TestClickHouse) throws -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.survivesPowerLoss = false
        options.minInterval = .zero
        return try ClickHouseStore(try ClickHouseAddress(server.url()), options: options)
    }

    private func token(_ number: UInt32) -> FencingToken { FencingToken(rawValue: 1_700_000_000 + number) }

    private func group(seq: Int64, state: LifecycleState, samples: [Int64]) -> IngestGroup {
        var group = IngestGroup(batches: [batch(samples, seq: seq)])
        let change = LifecycleTransition(
            from: nil, to: state, since: Timestamp(microseconds: seq), reason: "test", seq: seq)
        group.transitions = [DeviceTransition(device: device, transition: change)]
        group.lifecycles = [device: LifecycleSnapshot(last: change)]
        return group
    }

    private func batch(_ times: [Int64], seq: Int64) -> ReceivedBatch {
        var block = SampleBlock(stream: .accelerometer)
        for time in times { block.append(time: Timestamp(microseconds: time), values: [0, 0, -1]) }
        let position = BatchPosition(epoch: scope.epoch, seq: seq)
        return ReceivedBatch(
            device: device, batch: Batch(position: position, samples: block),
            receivedAt: Timestamp(microseconds: seq * 1_000_000))
    }
}

private let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))
private let scope = DeviceEpoch(device: device, epoch: Epoch(unchecked: "e"))
