import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("Presence about dropped batches of earlier epochs")
struct PresencePublisherTests {
    @Test("it has the epoch and the batches, and the problem of the current presence")
    func dropped() {
        let presence = Presence(
            epoch: Epoch(unchecked: "new"), after: Epoch(unchecked: "old"), session: 7, phase: .foreground,
            at: Timestamp(microseconds: 5), dropped: [1...2], droppedSamples: 9, problem: "the clock is wrong",
            clock: ClockReport())
        let reports = presence.reports(ofDropped: [Epoch(unchecked: "old"): SequenceSet([3...4])])
        #expect(
            reports == [
                Presence(
                    epoch: Epoch(unchecked: "old"), session: 7, phase: .foreground, at: Timestamp(microseconds: 5),
                    dropped: [3...4], droppedSamples: 9, problem: "the clock is wrong")
            ])
    }
}
