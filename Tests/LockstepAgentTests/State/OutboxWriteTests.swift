import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The agent's writes to the outbox")
struct OutboxWriteTests {
    private var loop = FakeLoop()

    private mutating func writes() -> [String] { loop.take().filter { $0.hasPrefix("write") } }

    @Test("a window is written and published live when it is over")
    mutating func window() {
        loop.connect()
        loop.add([1, 2])
        loop.add([3])
        _ = loop.take()
        loop.turn(after: 999_999)
        let early = loop.take()
        loop.turn(after: 1)
        let late = loop.take()
        #expect(early.isEmpty)
        #expect(late == ["write 3", "live 1"])
        #expect(loop.state.delivery.inFlightCount == 1 && loop.state.delivery.unsentCount == 0)
    }

    @Test("a batch that cannot be published becomes backlog")
    mutating func notPublished() {
        loop.add([1])
        loop.turn(after: 1_000_000)
        #expect(loop.take() == ["write 1", "live 1"])
        #expect(loop.state.delivery.unsentCount == 1)
    }

    @Test("a live batch that is too large is excluded until the next connection, and logged once per connection")
    mutating func tooLarge() {
        for seq in 1...4 as ClosedRange<Int64> {
            loop.outcomes[BatchPosition(epoch: loop.epoch, seq: seq)] = .tooLarge
        }
        func produce(_ loop: inout FakeLoop) -> [String] {
            loop.add([1])
            loop.turn(after: 1_000_000)
            return loop.take().filter { $0.hasPrefix("error") }
        }
        loop.connect()
        let first = produce(&loop)
        let second = produce(&loop)
        let excluded = loop.state.delivery.unsentCount > 0
        loop.disconnect()
        loop.connect()
        let third = produce(&loop)
        let tooLarge = "error: batch too large for broker, kept in outbox"
        #expect(first == [tooLarge] && second.isEmpty && third == [tooLarge])
        #expect(!excluded && loop.state.delivery.unsentCount == 2)
    }

    @Test("after a failed write, samples wait in memory and the write is retried once a second")
    mutating func failure() {
        loop = FakeLoop { $0.coalescing.window = 100_000 }
        loop.writeError = outboxError
        loop.add([1])
        loop.turn(after: 1_000_000)
        let failed = loop.take()
        loop.add([2])
        loop.turn(after: 999_999)
        let waiting = loop.take()
        loop.turn(after: 1)
        let retried = loop.take()
        loop.writeError = nil
        loop.add([3])
        loop.turn(after: 1_000_000)
        let succeeded = loop.take()
        #expect(failed == ["write 1", "error: cannot write outbox, samples kept in memory"])
        #expect(waiting.isEmpty)
        #expect(retried == ["write 2"], "the failure is logged once")
        #expect(succeeded == ["write 3", "live 1", "live 2", "live 3", "info: outbox can be written again"])
        #expect(loop.state.unsaved.isEmpty)
        #expect(
            loop.written.flatMap(\.times) == [10_000_001, 11_000_002, 12_000_003].map { start + $0 },
            "the order of the samples is kept")
    }

    @Test("a failed write is reported in the presence at once, and until a write succeeds")
    mutating func problem() {
        loop.connect()
        loop.writeError = outboxError
        loop.add([1])
        loop.turn(after: 2_000_000)
        loop.turn(after: 1_000_000)
        let during = loop.presences.last?.problem
        loop.writeError = nil
        loop.turn(after: 1_000_000)
        loop.turn(after: 1_000_000)
        #expect(during == "outbox problem: \(outboxError)")
        #expect(loop.presences.last?.problem == nil && loop.state.presence.problem == nil)
    }

    @Test("samples that cannot be written before the end are counted in the last presence")
    mutating func lostAtStop() {
        loop.connect()
        loop.writeError = outboxError
        loop.add([1, 2])
        loop.send(.shutdownBegan([]))
        loop.send(.stage(.shutdown))
        let last = loop.presences.last
        #expect(last?.phase == .terminated && last?.droppedSamples == 2 && last?.problem != nil)
    }

    @Test("a failure is logged again after a successful write")
    mutating func loggedAgain() {
        var logged: [Int] = []
        for error in [outboxError, nil, outboxError] {
            loop.writeError = error
            loop.add([1])
            loop.turn(after: 2_000_000)
            logged.append(loop.take().filter { $0.hasPrefix("error") }.count)
        }
        #expect(logged == [1, 0, 1])
    }

    @Test("blocks that a full disk does not accept are kept, and the others are published")
    mutating func partial() {
        loop = FakeLoop { $0.coalescing.samples = 1 }
        loop.writeError = outboxError
        loop.writeLimit = 2
        loop.add(1...5)
        loop.turn()
        let partial = loop.take()
        let kept = loop.state.unsavedCount
        loop.turn(after: 999_999)
        let early = writes()
        loop.writeLimit = .max
        loop.writeError = nil
        loop.turn(after: 1)
        let rest = writes()
        #expect(partial.prefix(3) == ["write 5", "live 1", "live 2"])
        #expect(partial.last == "error: cannot write outbox, samples kept in memory")
        #expect(kept == 3 && early.isEmpty && rest == ["write 3"])
    }

    @Test("at most 200,000 samples wait in memory: the oldest are dropped, counted and reported")
    mutating func memoryLimit() {
        loop.writeError = outboxError
        for number in 0..<250 as Range<Int64> {
            loop.send(.writeFailed([block(number * 1000..<(number + 1) * 1000, .gyroscope)], outboxError))
        }
        #expect(loop.state.unsavedCount == AgentState.maxUnsavedSamples)
        #expect(loop.state.unsaved.first?.times.first == 50_000)
        #expect(loop.state.presence.unsavedDropped == 50_000)
        #expect(loop.state.presence.isChanged, "the next presence does not wait for the heartbeat")
        #expect(loop.take().filter { $0 == "warning: samples dropped memory-limit" }.count == 1)
    }

    @Test("acknowledged batches are removed with the next write")
    mutating func removal() {
        loop.acknowledge(through: 3)
        loop.add([1])
        loop.turn(after: 1_000_000)
        let first = writes()
        loop.add([2])
        loop.turn(after: 1_000_000)
        let second = writes()
        #expect(first == ["write 1, removing e 1-3"] && second == ["write 1"])
    }

    @Test("acknowledged batches are removed after two seconds if there is no write")
    mutating func removalDeadline() {
        loop.acknowledge(through: 3)
        let wake = loop.state.nextTurn(at: loop.boot + 1_500_000)
        loop.turn(after: 1_000_000)
        loop.acknowledge(through: 4)
        loop.turn(after: 999_999)
        let early = writes()
        loop.turn(after: 1)
        let late = writes()
        loop.turn(after: 5_000_000)
        let once = writes()
        #expect(early.isEmpty && late == ["write 0, removing e 1-4"] && once.isEmpty)
        #expect(wake == 12_000_000)
    }

    @Test("after a failed write, acknowledged batches are removed with the next write and do not wake the loop")
    mutating func removalFailure() {
        loop.writeError = outboxError
        loop.acknowledge(through: 3)
        loop.add([1])
        loop.turn(after: 2_000_000)
        _ = loop.take()
        let wake = loop.state.nextTurn(at: loop.boot)
        loop.writeError = nil
        loop.turn(after: 1_000_000)
        #expect(writes() == ["write 1, removing e 1-3"])
        // The next turn was at the maximum interval, not at the removal deadline.
        #expect(wake == loop.boot)
    }

    @Test(
        "a PUBACK removes a batch only if the broker acknowledges",
        arguments: AgentConfiguration.AcknowledgedBy.allCases)
    mutating func acknowledgedBy(_ mode: AgentConfiguration.AcknowledgedBy) {
        loop = FakeLoop { $0.acknowledgedBy = mode }
        loop.connect()
        loop.add([1])
        loop.turn(after: 1_000_000)
        loop.acknowledgeMessages()
        _ = loop.take()
        loop.turn(after: 2_000_000)
        let isRemoved = !writes().isEmpty
        #expect(isRemoved == (mode == .broker))
        #expect(loop.state.delivery.isEmpty == (mode == .broker))
    }

    @Test("acknowledgements of a collector are ignored if the broker acknowledges")
    mutating func ignored() {
        loop = FakeLoop(pending: [1...3]) { $0.acknowledgedBy = .broker }
        loop.acknowledge(through: 3)
        loop.send(.unreadableAcknowledgement(outboxError))
        loop.turn(after: 2_000_000)
        #expect(loop.take().isEmpty && loop.state.delivery.unsentCount == 3)
    }

    private func dropped(_ batches: SequenceSet, samples: Int64, aged: Int64 = 0) -> Outbox.Dropped {
        var dropped = Outbox.Dropped()
        dropped.batches = [0: [loop.epoch: batches]]
        (dropped.samples, dropped.agedSamples) = (samples, aged)
        return dropped
    }

    @Test("dropped samples are logged by reason, reported in the presence and not delivered")
    mutating func dropped() {
        loop = FakeLoop(pending: [1...3])
        loop.connect()
        loop.turn()
        _ = loop.take()
        loop.dropped = dropped([1...2], samples: 30, aged: 10)
        loop.add([1])
        loop.turn(after: 1_000_000)
        let bySize = loop.take().filter { !$0.hasPrefix("live") }
        let left = loop.state.delivery.unsentCount
        loop.wasDiskFull = true
        loop.dropped = dropped([3...3], samples: 5)
        loop.add([1])
        loop.turn(after: 1_000_000)
        let byDisk = loop.take().filter { $0.hasPrefix("warning") }
        #expect(
            bySize == [
                "write 1", "warning: samples dropped outbox-age", "warning: samples dropped outbox-size",
                "presence foreground (reconnect)",
            ])
        #expect(left == 1 && byDisk == ["warning: samples dropped disk-full"])
    }

    @Test("an impossible value of a column that may be null is left out, which is logged once")
    mutating func impossible() {
        loop = FakeLoop(streams: [.battery])
        for time in [Int64(1), 2] {
            let samples = SampleBlock(stream: .battery, times: [time], columns: [[80], [1]])
            loop.send(.item(.samples(samples, .own)))
        }
        #expect(loop.take() == ["warning: values left out out-of-range"])
        #expect(loop.state.presence.unsavedDropped == 0)
        loop.turn(after: 1_000_000)
        let levels = loop.written.flatMap { $0.columns[0] }
        #expect(levels.count == 2 && levels.filter(\.isNaN).count == 2)
    }

    @Test("samples with missing values are dropped, counted and logged once per stream")
    mutating func incomplete() {
        loop = FakeLoop(streams: [.gyroscope, .magnetometer])
        for stream in [SensorStream.gyroscope, .gyroscope, .magnetometer] {
            let samples = SampleBlock(
                stream: stream, times: [1, 2], columns: [[.nan, 0], [0, 0], [0, 0]])
            loop.send(.item(.samples(samples, .own)))
        }
        #expect(loop.take() == Array(repeating: "warning: samples dropped missing-or-impossible-value", count: 2))
        #expect(loop.state.presence.unsavedDropped == 3)
        loop.turn(after: 1_000_000)
        #expect(loop.written.map(\.times) == [[2], [2], [2]])
    }
}
