import LockstepModel
import Testing

@testable import LockstepCollector

@Suite("Lease")
struct LeaseTests {
    @Test("a lease is valid for 10 s after the last confirmed record was sent, until it ends")
    func validity() {
        let lease = Lease(CollectorShare(group: GroupID(unchecked: "lab")), .broker)
        #expect(!lease.isValid(at: 0))
        lease.confirm(FencingToken(rawValue: 1), sentAt: 1_000_000)
        #expect(lease.isValid(at: 10_999_999) && !lease.isValid(at: 11_000_000))
        lease.end("test")
        #expect(!lease.isValid(at: 1_000_001))
    }

    @Test("an owner stops relying on its lease before others may claim it", arguments: [LeaseTiming.broker, .keyValue])
    func timing(_ timing: LeaseTiming) {
        #expect(timing.renewal < timing.validity && timing.validity < timing.timeout)
        let lease = Lease(CollectorShare(group: GroupID(unchecked: "lab")), timing)
        lease.confirm(FencingToken(rawValue: 1), sentAt: 0)
        #expect(lease.isValid(at: timing.validity - 1) && !lease.isValid(at: timing.validity))
    }

    @Test("a collection hangs if a turn takes longer than 60 s, but not before its first turn")
    func hanging() {
        let lease = Lease(CollectorShare(group: GroupID(unchecked: "lab")), .broker)
        #expect(!lease.isHanging(at: 90_000_000))
        lease.beginTurn(at: 100_000_000)
        #expect(!lease.isHanging(at: 160_000_000))
        #expect(lease.isHanging(at: 160_000_001))
        lease.beginTurn(at: 160_000_001)
        #expect(!lease.isHanging(at: 160_000_002))
    }
}
