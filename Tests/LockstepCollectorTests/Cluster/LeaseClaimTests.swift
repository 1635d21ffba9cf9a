import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepCollector

@Suite("Claim of a lease")
struct LeaseClaimTests {
    private let mine = LeaseOwner(collector: CollectorID(unchecked: "a"), claim: 1)
    private let other = LeaseOwner(collector: CollectorID(unchecked: "b"), claim: 2)

    @Test("a claim has a higher token than the last one and the floor, and renewals expect its last revision")
    func held() {
        var claim = LeaseClaim(mine, claiming: lease(token: 500, nil, revision: 7), floor: 100)
        #expect(claim.next == .write(record(501, mine), expecting: 7))
        #expect(claim.release == nil)
        claim.wrote(revision: 9)
        #expect(claim.phase == .held)
        #expect(claim.next == .write(record(501, mine), expecting: 9))
        #expect(claim.release?.record == record(501, nil) && claim.release?.revision == 9)
        #expect(
            LeaseClaim(mine, claiming: ObservedLease(nil), floor: 100).next
                == .write(record(100, mine), expecting: nil))
    }

    @Test("no claim is made if the last one has the highest token")
    func exhausted() {
        let claim = LeaseClaim(mine, claiming: lease(token: .max, nil, revision: 7), floor: 100)
        #expect(claim.phase == .exhausted && claim.next == nil && claim.release == nil)
    }

    @Test("a value that is not a record counts as free, and its key is replaced")
    func invalidValue() {
        let observed = ObservedLease(KeyValueEntry(value: Array("x y z".utf8), revision: 4))
        let claim = LeaseClaim(mine, claiming: observed, floor: 100)
        #expect(claim.next == .write(record(100, mine), expecting: 4))
    }

    @Test("after a failed write, the key is read: a write whose answer was lost counts, another owner ends the lease")
    func uncertain() {
        for isHeld in [false, true] {
            var claim = LeaseClaim(mine, claiming: lease(token: 5, nil, revision: 7), floor: 0)
            if isHeld { claim.wrote(revision: 8) }
            claim.writeFailed()
            #expect(claim.next == .read)
            var carriedOut = claim
            carriedOut.read(lease(token: 6, mine, revision: 9))
            #expect(carriedOut.next == .write(record(6, mine), expecting: 9))
            #expect(carriedOut.release?.record == record(6, nil) && carriedOut.release?.revision == 9)
            var unchanged = claim
            unchanged.read(isHeld ? lease(token: 6, mine, revision: 8) : lease(token: 5, nil, revision: 7))
            #expect(unchanged.next == .write(record(6, mine), expecting: isHeld ? 8 : 7))
            var lagging = claim
            lagging.read(lease(token: 4, other, revision: 6))
            #expect(lagging.next == .write(record(6, mine), expecting: isHeld ? 8 : 7))
            var recreated = claim
            recreated.read(lease(token: 7, other, revision: 1))
            #expect(recreated.phase == .lost, "the revisions of a new bucket are low")
            claim.read(lease(token: 7, other, revision: 9))
            #expect(claim.phase == .lost && claim.next == nil && claim.release == nil)
        }
    }

    @Test("a key that was deleted ends a lease that is held, but not a claim")
    func deleted() {
        var claim = LeaseClaim(mine, claiming: lease(token: 5, nil, revision: 7), floor: 0)
        claim.writeFailed()
        claim.read(ObservedLease(nil))
        #expect(claim.next == .write(record(6, mine), expecting: nil))
        claim.wrote(revision: 1)
        claim.writeFailed()
        claim.read(ObservedLease(nil))
        #expect(claim.phase == .deleted && claim.next == nil)
    }

    @Test(
        "of collectors that claim and renew in any order, one holds the lease, also if two writes at once succeed",
        arguments: [false, true])
    func model(acceptsTwoAtOnce: Bool) {
        var (random, seed) = seeded("LeaseClaim")
        for _ in 0..<300 {
            var history: [KeyValueEntry?] = [nil]
            var claims: [LeaseClaim] = []
            /// The number of writes of each claim that it knows to have succeeded. With two, it is confirmed.
            var successes: [Int] = []
            /// The tokens of the confirmed claims in this order.
            var tokens: [UInt32] = []
            /// The claim whose write a server may not know yet when it compares the revision of the next one.
            var inFlight: Int?
            for step in 0..<60 {
                if claims.count < 6, Bool.random(using: &random) {
                    let seen = history[Int.random(in: max(0, history.count - 3)..<history.count, using: &random)]
                    let owner = LeaseOwner(collector: CollectorID(unchecked: "c"), claim: UInt64(step))
                    claims.append(LeaseClaim(owner, claiming: ObservedLease(seen), floor: 0))
                    successes.append(0)
                }
                guard let index = claims.indices.randomElement(using: &random) else { continue }
                switch claims[index].next {
                case .write(let record, let revision):
                    let isLast = history[history.count - 1]?.revision == revision
                    let isAtOnce =
                        acceptsTwoAtOnce && inFlight.map { $0 != index } ?? false
                        && history[history.count - 2]?.revision == revision
                    if isLast || isAtOnce {
                        history.append(KeyValueEntry(value: record.payload, revision: UInt64(history.count)))
                    }
                    inFlight = isLast ? index : nil
                    if isLast || isAtOnce, Int.random(in: 0..<3, using: &random) > 0 {
                        claims[index].wrote(revision: UInt64(history.count - 1))
                        successes[index] += 1
                        if successes[index] == 2 { tokens.append(record.token.rawValue) }
                    } else {
                        claims[index].writeFailed()
                    }
                case .read:
                    let lag = Int.random(in: 0..<3, using: &random)
                    claims[index].read(ObservedLease(history[max(0, history.count - 1 - lag)]))
                case nil: break
                }
            }
            // Each confirmed claim has a higher token than all earlier ones.
            #expect(tokens == tokens.sorted() && Set(tokens).count == tokens.count, "seed \(seed): \(tokens)")
        }
    }

    @Test("a clock far in the future does not use up all tokens")
    func futureClock() {
        let floor = LeaseClaim.floor(at: Timestamp(microseconds: .max))
        #expect(floor < .max - 10_000_000 && LeaseClaim.floor(at: Timestamp(microseconds: 7_000_000)) == 7)
    }

    @Test("records are read as they are written", arguments: ["7 a:18446744073709551615", "7"])
    func payloads(text: String) {
        #expect(LeaseRecord(Array(text.utf8)).map { String(decoding: $0.payload, as: UTF8.self) } == text)
    }

    @Test("invalid records are ignored", arguments: ["", "x", "-1 a:1", "1 a", "1 a:b", "1 a:1 c", "4294967296"])
    func invalid(text: String) { #expect(LeaseRecord(Array(text.utf8)) == nil) }

    private func record(_ token: UInt32, _ owner: LeaseOwner?) -> LeaseRecord {
        LeaseRecord(token: FencingToken(rawValue: token), owner: owner)
    }

    private func lease(token: UInt32, _ owner: LeaseOwner?, revision: UInt64) -> ObservedLease {
        ObservedLease(KeyValueEntry(value: record(token, owner).payload, revision: revision))
    }
}
