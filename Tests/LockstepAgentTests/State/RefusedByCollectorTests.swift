import LockstepMQTT
import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("Batches that a collector refuses or does not acknowledge")
struct RefusedByCollectorTests {
    private static let refused = "warning: collector refuses batches, kept in outbox"
    private static let silent = "warning: no collector acknowledges batches, kept in outbox"
    private var loop = FakeLoop()

    /// Publishes a batch, whose PUBACK arrives.
    private mutating func publish() {
        loop.connect()
        loop.subscribed()
        loop.add([1])
        loop.turn(after: 1_000_000)
        loop.acknowledgeMessages()
        _ = loop.take()
    }

    private mutating func refuse(_ seq: Int64) {
        let ack = Acknowledgement(
            epoch: Epoch(unchecked: "e"), through: 0, refusal: .init(seq: seq, reason: "the clock is wrong"))
        loop.send(.acknowledgement(ack, isNewerThanOutbox: false))
    }

    private var problem: String? { loop.state.presence.problem }

    @Test("a refusal is logged once in ten minutes, and is in the presence until the batch is stored")
    mutating func refusal() {
        publish()
        refuse(1)
        loop.turn(after: 2_900_000)
        let early = loop.take().contains(Self.refused) || problem != nil
        refuse(1)
        loop.turn(after: 200_000)
        refuse(1)
        loop.turn()
        let first = loop.take().filter { $0 == Self.refused }
        let reported = problem
        let published = loop.presences.last?.problem
        loop.turn(after: 600_000_000)
        refuse(1)
        let later = loop.take().filter { $0.hasPrefix("warning") }
        loop.acknowledge(through: 1)
        loop.turn()
        #expect(!early && first == [Self.refused] && later == [Self.refused])
        #expect(reported == "a collector refuses its batches: the clock is wrong" && published == reported)
        #expect(problem == nil)
    }

    @Test("a refusal is not reported if another collector stores the batch a moment later")
    mutating func otherCollector() {
        publish()
        refuse(1)
        loop.turn(after: 1_000_000)
        loop.acknowledge(through: 1)
        loop.turn(after: 10_000_000)
        #expect(problem == nil && !loop.take().contains(Self.refused))
    }

    @Test("a refusal of a batch that no longer waits is removed, another one stays")
    func removed() {
        var refusals = CollectorRefusals()
        let position = BatchPosition(epoch: Epoch(unchecked: "e"), seq: 3)
        refusals.didRefuse(position, reason: "the clock is wrong", at: 0)
        refusals.remove { $0.seq == 2 }
        #expect(refusals.isAny)
        refusals.remove { $0 == position }
        #expect(!refusals.isAny)
    }

    @Test("if nothing is acknowledged for 30 s, this is logged once, and not if the reason is known")
    mutating func silence() {
        publish()
        loop.turn(after: 28_000_000)
        let early = loop.take()
        loop.turn(after: 2_000_000)
        loop.turn(after: 60_000_000)
        let late = loop.take()
        #expect(!early.contains(Self.silent))
        #expect(late.filter { $0 == Self.silent }.count == 1)

        loop = FakeLoop()
        publish()
        refuse(1)
        loop.turn(after: 60_000_000)
        #expect(!loop.take().contains(Self.silent))
    }

    @Test("acknowledgements that arrive in time, and a lost connection, are no silence")
    mutating func noSilence() {
        publish()
        for seq in 1...4 {
            loop.acknowledge(through: Int64(seq))
            loop.add([Int64(seq) * 10_000])
            loop.turn(after: 20_000_000)
            loop.acknowledgeMessages()
        }
        #expect(!loop.take().contains(Self.silent))
        loop.turn(after: 20_000_000)
        loop.disconnect()
        loop.connect()
        loop.turn(after: 29_000_000)
        #expect(!loop.take().contains(Self.silent))
    }

    @Test("another agent with the same device id is in the presence for ten minutes")
    mutating func takeover() {
        loop.connect()
        loop.disconnect(.takenOver)
        loop.connect()
        loop.turn()
        let during = problem
        loop.turn(after: 600_000_000)
        #expect(during == "another agent uses the same device id: give each agent its own --device")
        #expect(problem == nil)
    }
}
