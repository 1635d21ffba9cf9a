import LockstepModel
import SensorTestSupport
import Testing

@Suite("An acknowledgement")
struct AcknowledgementTests {
    private let epoch = Epoch(unchecked: "e")

    @Test("of a whole sequence has a watermark and nothing missing")
    func whole() {
        let ack = Acknowledgement(epoch: epoch, received: SequenceSet([1...40]))
        #expect(ack == Acknowledgement(epoch: epoch, through: 40))
        #expect(ack.highest == 40)
        #expect(ack.stored == SequenceSet([1...40]))
    }

    @Test("of nothing says that nothing is stored")
    func empty() {
        let ack = Acknowledgement(epoch: epoch, received: SequenceSet())
        #expect(ack == Acknowledgement(epoch: epoch, through: 0))
        #expect(ack.stored.isEmpty)
    }

    @Test("names the gaps above its watermark")
    func gaps() {
        let ack = Acknowledgement(epoch: epoch, received: SequenceSet([1...3, 6...6, 9...12]))
        #expect(ack.through == 3)
        #expect(ack.missing == [4...5, 7...8])
        #expect(ack.highest == 12)
        #expect(ack.stored == SequenceSet([1...3, 6...6, 9...12]))
    }

    @Test("with more gaps than fit takes the lowest for one: it says less, stays true, and ends with the highest")
    func truncated() {
        let received = SequenceSet((1...50).map { (2 * $0)...(2 * $0) })
        let ack = Acknowledgement(epoch: epoch, received: received, limit: 3)
        #expect(ack.through == 0)
        #expect(ack.missing == [1...95, 97...97, 99...99])
        #expect(ack.highest == 100)
        #expect(ack.stored == SequenceSet([96...96, 98...98, 100...100]))
    }

    @Test("goes on to the newest however many gaps stay open")
    func permanentGaps() {
        let received = SequenceSet((1...5000).map { (2 * $0)...(2 * $0) } + [10_001...20_000])
        let ack = Acknowledgement(epoch: epoch, received: received)
        #expect(ack.highest == 20_000)
        #expect(SequenceSet([10_001...20_000]).subtracting(ack.stored).isEmpty)
    }

    @Test("with just as many gaps as fit says all")
    func atTheLimit() {
        let received = SequenceSet([2...2, 4...4, 6...9])
        let ack = Acknowledgement(epoch: epoch, received: received, limit: 3)
        #expect(ack.highest == 9)
        #expect(ack.stored == received)
    }

    @Test("has a highest number of at least its watermark")
    func highest() {
        #expect(Acknowledgement(epoch: epoch, through: 7, highest: 2).highest == 7)
        #expect(Acknowledgement(epoch: epoch, through: 7).highest == 7)
    }

    @Test("never names a batch stored that was not received, and with room for all gaps names every one that was")
    func randomized() {
        var (random, seed) = seeded("acknowledgement")
        for _ in 0..<500 {
            var received = SequenceSet()
            for _ in 0..<Int.random(in: 0...60, using: &random) {
                received.insert(.random(in: 1...150, using: &random))
            }
            let limit = Int.random(in: 1...20, using: &random)
            let ack = Acknowledgement(epoch: epoch, received: received, limit: limit)
            #expect(ack.missing.count <= limit, "seed \(seed)")
            #expect(ack.stored.subtracting(received).isEmpty, "seed \(seed)")
            #expect(
                SequenceSet([1...max(1, ack.through)]).subtracting(received).isEmpty || ack.through == 0, "seed \(seed)"
            )
            #expect(received.gaps.subtracting(SequenceSet(ack.missing)).isEmpty, "seed \(seed)")
            #expect(ack.highest == received.last ?? 0, "seed \(seed)")
            if received.gaps.ranges.count <= limit { #expect(ack.stored == received, "seed \(seed)") }
        }
    }
}
