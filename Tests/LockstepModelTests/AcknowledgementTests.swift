import LockstepModel
import SensorTestSupport
import Testing

@Suite("Acknowledgement")
struct AcknowledgementTests {
    private let epoch = Epoch(unchecked: "e")

    @Test("a complete sequence gives a watermark and no missing batches")
    func completeSequence() {
        let ack = Acknowledgement(epoch: epoch, received: SequenceSet([1...40]))
        #expect(ack == Acknowledgement(epoch: epoch, through: 40))
        #expect(ack.highest == 40)
        #expect(ack.stored == SequenceSet([1...40]))
    }

    @Test("without received batches, nothing is acknowledged")
    func empty() {
        let ack = Acknowledgement(epoch: epoch, received: SequenceSet())
        #expect(ack == Acknowledgement(epoch: epoch, through: 0))
        #expect(ack.stored.isEmpty)
    }

    @Test("gaps above the watermark are reported as missing")
    func gaps() {
        let ack = Acknowledgement(epoch: epoch, received: SequenceSet([1...3, 6...6, 9...12]))
        #expect(ack.through == 3)
        #expect(ack.missing == [4...5, 7...8])
        #expect(ack.highest == 12)
        #expect(ack.stored == SequenceSet([1...3, 6...6, 9...12]))
    }

    @Test("the lowest gaps are combined if there are more than the limit")
    func combinedGaps() {
        let received = SequenceSet((1...50).map { (2 * $0)...(2 * $0) })
        let ack = Acknowledgement(epoch: epoch, received: received, limit: 3)
        #expect(ack.through == 0)
        #expect(ack.missing == [1...95, 97...97, 99...99])
        #expect(ack.highest == 100)
        #expect(ack.stored == SequenceSet([96...96, 98...98, 100...100]))
    }

    @Test("open gaps do not prevent the acknowledgement of newer batches")
    func permanentGaps() {
        let received = SequenceSet((1...5000).map { (2 * $0)...(2 * $0) } + [10_001...20_000])
        let ack = Acknowledgement(epoch: epoch, received: received)
        #expect(ack.highest == 20_000)
        #expect(SequenceSet([10_001...20_000]).subtracting(ack.stored).isEmpty)
    }

    @Test("all gaps are reported if their number equals the limit")
    func atTheLimit() {
        let received = SequenceSet([2...2, 4...4, 6...9])
        let ack = Acknowledgement(epoch: epoch, received: received, limit: 3)
        #expect(ack.highest == 9)
        #expect(ack.stored == received)
    }

    @Test("the highest number is never below the watermark")
    func highest() {
        #expect(Acknowledgement(epoch: epoch, through: 7, highest: 2).highest == 7)
        #expect(Acknowledgement(epoch: epoch, through: 7).highest == 7)
    }

    @Test("only received batches are acknowledged, and all of them unless gaps are combined")
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
