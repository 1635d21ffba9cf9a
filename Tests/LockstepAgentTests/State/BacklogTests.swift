import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The agent's backlog")
struct BacklogTests {
    private var loop = FakeLoop(pending: [1...5]) { $0.acknowledgedBy = .broker }

    private mutating func published() -> [String] { loop.take().filter { $0.hasPrefix("backlog") } }

    @Test(
        "an outbox that could not be read is no problem any more if the batch is missing, too large or delivered",
        arguments: [OutboxDelivery.Outcome.missing, .tooLarge, nil])
    mutating func readAgain(outcome: OutboxDelivery.Outcome?) {
        let position = BatchPosition(epoch: loop.epoch, seq: 1)
        loop = FakeLoop(pending: [1...1])
        loop.outcomes[position] = .failed(outboxError)
        loop.connect()
        loop.subscribed()
        for _ in 0..<2 { loop.turn(after: 1_000_000) }
        let during = loop.state.presence.problem
        if let outcome { loop.outcomes[position] = outcome } else { loop.acknowledge(through: 1) }
        for _ in 0..<2 { loop.turn(after: 1_000_000) }
        #expect(during == "outbox problem: \(outboxError)" && loop.state.presence.problem == nil)
    }

    @Test("backlog waits half a second after the subscription for the retained acknowledgement")
    mutating func start() {
        loop.connect()
        loop.turn(after: 10_000_000)
        let unsubscribed = published()
        loop.subscribed()
        loop.turn(after: 499_999)
        let early = published()
        loop.turn(after: 1)
        let late = published()
        #expect(unsubscribed.isEmpty && early.isEmpty)
        #expect(late == ["backlog 1", "backlog 2", "backlog 3", "backlog 4", "backlog 5"])
    }

    @Test("an acknowledgement starts the backlog at once, without the batches it lists")
    mutating func acknowledged() {
        loop = FakeLoop(pending: [1...5])
        loop.connect()
        loop.acknowledge(through: 3)
        loop.turn()
        #expect(published() == ["backlog 4", "backlog 5"])
    }

    @Test("backlog stops with the connection and waits again after the next one")
    mutating func disconnected() {
        loop.connect()
        loop.subscribed()
        loop.disconnect()
        let stopped = loop.take().last { !$0.hasPrefix("warning") }
        loop.turn(after: 1_000_000)
        let disconnected = published()
        loop.connect()
        loop.turn(after: 1_000_000)
        let connected = published()
        #expect(stopped == "stop backlog" && disconnected.isEmpty && connected.isEmpty)
    }

    @Test("backlog waits while the outbox seems to be an older copy")
    mutating func olderCopy() {
        loop = FakeLoop(pending: [1...5])
        loop.connect()
        loop.acknowledge(through: 0)
        loop.epochError = outboxError
        let ack = Acknowledgement(epoch: loop.epoch, through: 9)
        loop.send(.acknowledgement(ack, isNewerThanOutbox: true))
        loop.turn()
        #expect(published().isEmpty)
    }

    @Test("a turn reads at most 500 batches and does not exceed the byte rate")
    mutating func limits() {
        loop = FakeLoop(pending: [1...1000]) {
            $0.acknowledgedBy = .broker
            $0.backlogRate = 20_000
        }
        /// Returns how many batches the byte rate allows now, if the link is fast.
        func publishable() -> Int {
            var count = 0
            while true {
                loop.turn()
                let new = published().count
                guard new > 0 else { return count }
                count += new
                loop.acknowledgeMessages()
            }
        }
        loop.connect()
        loop.subscribed()
        loop.boot += 500_000
        // Each batch has 1000 bytes.
        let first = publishable()
        let none = publishable()
        loop.boot += 500_000
        let half = publishable()
        for seq in 1...1000 as ClosedRange<Int64> {
            loop.outcomes[BatchPosition(epoch: loop.epoch, seq: seq)] = .missing
        }
        loop.turn(after: 1_000_000)
        let missing = published().count
        #expect(first == 20 && none == 0 && half == 10)
        #expect(missing == OutboxDelivery.maxReads)
    }

    @Test("a missing or too large batch does not block the next ones; another failure ends the backlog of the turn")
    mutating func failures() {
        func position(_ seq: Int64) -> BatchPosition { BatchPosition(epoch: Epoch(unchecked: "e"), seq: seq) }
        loop.outcomes = [position(1): .missing, position(2): .tooLarge, position(3): .tooLarge]
        loop.outcomes[position(4)] = .failed(outboxError)
        loop.connect()
        loop.subscribed()
        _ = loop.take()
        loop.turn(after: 500_000)
        let first = loop.take()
        loop.turn(after: 50_000)
        let second = loop.take()
        loop.outcomes[position(4)] = .notPublished
        loop.turn(after: 50_000)
        let third = loop.take()
        let tooLarge = "error: batch too large for broker, kept in outbox"
        let expected = ["backlog 1", "backlog 2", tooLarge, "backlog 3", "backlog 4", "error: cannot publish backlog"]
        #expect(first.filter { !$0.hasPrefix("presence") } == expected)
        #expect(second == ["backlog 4"] && third == ["backlog 4"])
        #expect(loop.state.delivery.unsentCount == 2, "the missing batch is forgotten, the large ones are excluded")
    }

    @Test("a failure to record the backlog is logged once, until the outbox can be written")
    mutating func notRecorded() {
        loop.send(.backlogNotRecorded(outboxError))
        loop.send(.backlogNotRecorded(outboxError))
        let first = loop.take()
        loop.add([1])
        loop.turn(after: 1_000_000)
        _ = loop.take()
        loop.send(.backlogNotRecorded(outboxError))
        let again = loop.take()
        #expect(first == ["error: cannot write outbox, backlog published nevertheless"] && again == first)
    }
}
