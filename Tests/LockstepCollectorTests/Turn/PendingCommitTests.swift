import LockstepModel
import LockstepStore
import Testing

@testable import LockstepCollector

@Suite("Pending commit")
struct PendingCommitTests {
    private var pending = PendingCommit()

    private static let transition = DeviceTransition(
        device: device,
        transition: LifecycleTransition(from: nil, to: .active, since: time(1), reason: "start", seq: 1))

    private static let rejection = RejectedMessage(at: time(1), topic: "a", reason: "b", size: 1, head: [])

    private static func group(_ seconds: Double) -> IngestGroup {
        IngestGroup(
            batches: [ReceivedBatch(device: device, batch: IntakeTests.batch(at: seconds), receivedAt: time(seconds))],
            rejected: [rejection], transitions: [transition], seen: [device: time(seconds)])
    }

    @Test("the transitions and rejections of all parts are collected")
    mutating func parts() {
        pending.add(Self.group(1))
        pending.add(Self.group(2))
        #expect(pending.transitions == [Self.transition, Self.transition])
        #expect(pending.rejected == [Self.rejection, Self.rejection])
    }

    @Test("only the samples of the first part are kept to test the store with")
    mutating func trialGroup() {
        #expect(!pending.hasTrialGroup)
        pending.add(IngestGroup(rejected: [Self.rejection], seen: [device: time(0)]))
        #expect(!pending.hasTrialGroup)
        pending.add(Self.group(1))
        pending.add(Self.group(2))
        #expect(pending.hasTrialGroup)
        #expect(pending.trialGroup?.batches == Self.group(1).batches)
        #expect(pending.trialGroup?.rejected == [] && pending.trialGroup?.transitions == [])
        #expect(pending.trialGroup?.seen == [:])
    }

    @Test("dropped batches alone are enough to test the store with")
    mutating func dropped() {
        let dropped = DroppedBatches(device: device, epoch: epoch, ranges: SequenceSet([1...2]))
        pending.add(IngestGroup(dropped: [dropped]))
        #expect(pending.trialGroup?.dropped == [dropped])
        #expect(pending.hasTrialGroup)
    }

    @Test("a rollback discards the results and keeps the samples to test the store with")
    mutating func rollback() {
        pending.add(Self.group(1))
        pending.rollBack()
        #expect(pending.transitions.isEmpty && pending.rejected.isEmpty)
        #expect(pending.hasTrialGroup)
        pending.add(Self.group(2))
        #expect(pending.trialGroup?.batches == Self.group(1).batches)
        pending.clearTrialGroup()
        #expect(!pending.hasTrialGroup)
        #expect(pending.transitions == [Self.transition])
    }

    @Test("a commit clears everything")
    mutating func commit() {
        pending.add(Self.group(1))
        pending.clear()
        #expect(pending.transitions.isEmpty && pending.rejected.isEmpty && !pending.hasTrialGroup)
    }
}
