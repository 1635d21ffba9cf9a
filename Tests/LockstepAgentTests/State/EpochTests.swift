import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepAgent

@Suite("The agent's epochs")
struct EpochTests {
    private var loop = FakeLoop()
    private let hour: Int64 = 3_600_000_000

    @Test("a step of the clock writes the samples before it, starts an epoch and reconnects")
    mutating func step() {
        loop.connect()
        loop.subscribed()
        loop.add([1])
        _ = loop.take()
        loop.wallOffset = hour
        loop.turn(after: 100_000)
        #expect(
            loop.take() == [
                "write 1", "live 1", "warning: clock stepped, starting new epoch", "start epoch", "info: epoch started",
                "reconnect",
            ])
        #expect(!loop.state.isConnected && loop.state.delivery.inFlightCount == 0)
    }

    @Test("samples after a step back may have lower timestamps than those before it")
    mutating func stepBack() {
        func stamped(_ loop: inout FakeLoop) -> Int64? {
            loop.send(.item(.samples(block([loop.boot], .gyroscope), .boot)))
            loop.turn(after: 1_000_000)
            return loop.written.last?.times.last
        }
        let before = stamped(&loop) ?? 0
        loop.wallOffset = -hour
        loop.turn()
        let after = stamped(&loop) ?? 0
        #expect(before == start + 10_000_000)
        #expect(after == start + 11_000_000 - hour)
    }

    @Test("an epoch that cannot be written is retried once a second, and logged once")
    mutating func retry() {
        loop.epochError = outboxError
        loop.wallOffset = hour
        loop.turn(after: 100_000)
        let failed = loop.take()
        loop.turn(after: 999_999)
        let early = loop.take()
        loop.turn(after: 1)
        let retried = loop.take()
        loop.epochError = nil
        loop.turn(after: 1_000_000)
        let succeeded = loop.take()
        loop.turn(after: 1_000_000)
        let once = loop.take()
        #expect(failed.suffix(2) == ["start epoch", "error: cannot start new epoch, retrying"])
        #expect(early.isEmpty && retried == ["start epoch"])
        #expect(succeeded == ["start epoch", "info: epoch started", "reconnect"] && once.isEmpty)
    }

    @Test("a small change of the wall clock starts no epoch")
    mutating func slew() {
        loop.wallOffset = 400_000
        loop.turn(after: 100_000)
        #expect(loop.take().isEmpty)
    }

    @Test("a suspend is reported after the wake, as background and foreground with their own times")
    mutating func suspend() {
        loop.turn()
        loop.asleep = hour
        loop.turn(after: hour + 100_000)
        let actions = loop.take()
        loop.turn(after: 1_000_000)
        #expect(actions == ["presence background (suspend)", "presence foreground (wake)"])
        #expect(loop.presences.map(\.at?.microseconds) == [start + 10_000_000, start + 10_100_000 + hour])
        #expect(loop.take().isEmpty)
    }

    @Test("a suspend in background is not reported")
    mutating func suspendInBackground() {
        loop.send(.item(.phase(.background, reason: "signal")))
        loop.turn()
        _ = loop.take()
        loop.asleep = hour
        loop.turn(after: hour)
        #expect(loop.take().isEmpty)
    }

    private func newerAck(_ loop: FakeLoop) -> AgentState.Event {
        .acknowledgement(Acknowledgement(epoch: loop.epoch, through: 9), isNewerThanOutbox: true)
    }

    @Test("an acknowledgement that contradicts the outbox removes nothing and replaces the epoch in the next turn")
    mutating func restored() {
        loop = FakeLoop(pending: [1...2])
        loop.connect()
        _ = loop.take()
        loop.send(newerAck(loop))
        let inCallback = loop.take()
        let removable = loop.state.delivery.removable
        loop.turn()
        let turn = loop.take()
        loop.turn(after: 1_000_000)
        #expect(inCallback.isEmpty && removable.isEmpty)
        #expect(
            turn == [
                "compare outbox", "replace epoch",
                "warning: outbox was restored from an older copy, sending its samples again", "reconnect",
            ])
        #expect(!loop.state.isConnected && loop.state.delivery.unsentCount == 3 && loop.take().isEmpty)
    }

    @Test("the epoch is kept if the outbox is no longer older")
    mutating func notOlder() {
        loop.isOutboxOlder = false
        loop.send(newerAck(loop))
        loop.turn()
        let compared = loop.take()
        loop.turn()
        #expect(compared == ["compare outbox"] && loop.take().isEmpty)
    }

    @Test("the replacement of an epoch is retried once a second, and logged once")
    mutating func replacementRetry() {
        loop.epochError = outboxError
        loop.send(newerAck(loop))
        loop.turn()
        let failed = loop.take()
        loop.turn(after: 999_999)
        let early = loop.take()
        loop.turn(after: 1)
        let retried = loop.take()
        #expect(
            failed == ["compare outbox", "replace epoch", "error: cannot start new epoch after a restore, retrying"])
        #expect(early == ["compare outbox"] && retried == ["compare outbox", "replace epoch"])
    }
}
