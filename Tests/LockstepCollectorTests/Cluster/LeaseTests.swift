import LockstepModel
import Testing

@testable import LockstepCollector

@Suite("Lease")
struct LeaseTests {
    @Test(
        "a lease is valid for 15 s after the last confirmed record was sent, until it ends, and others wait for longer")
    func validity() {
        let lease = Lease(CollectorShare(group: GroupID(unchecked: "lab")))
        #expect(!lease.isValid(at: 0))
        lease.confirm(FencingToken(rawValue: 1), sentAt: 1_000_000)
        #expect(lease.isValid(at: 15_999_999) && !lease.isValid(at: 16_000_000))
        lease.end("test")
        #expect(!lease.isValid(at: 1_000_001))
        #expect(Lease.renewal < Lease.validity && Lease.validity < Lease.timeout)
    }

    @Test("a collection hangs if a turn takes longer than 60 s, but not before its first turn")
    func hanging() {
        let lease = Lease(CollectorShare(group: GroupID(unchecked: "lab")))
        #expect(!lease.isHanging(at: 90_000_000))
        lease.beginTurn(at: 100_000_000)
        #expect(!lease.isHanging(at: 160_000_000))
        #expect(lease.isHanging(at: 160_000_001))
        lease.beginTurn(at: 160_000_001)
        #expect(!lease.isHanging(at: 160_000_002))
    }
}
