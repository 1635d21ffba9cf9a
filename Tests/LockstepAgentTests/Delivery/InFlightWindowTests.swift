import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The in-flight window")
struct InFlightWindowTests {
    private let epoch = Epoch(unchecked: "e")

    /// Fills the window, and acknowledges it after a queueing delay of `delay` µs and the hold time of the collector.
    /// - Returns: the number of batches.
    private func fillAndAcknowledge(_ window: inout InFlightWindow, delay: Int64, holdTime: Int64? = 700_000) -> Int64 {
        var count: Int64 = 0
        while window.isOpen {
            count += 1
            window.didPublish(BatchPosition(epoch: epoch, seq: count), isBacklog: true, at: 0)
        }
        window.acknowledge(
            SequenceSet([1...count]), holdTime: holdTime, of: epoch,
            at: delay + (holdTime ?? InFlightWindow.defaultHoldTime))
        return count
    }

    @Test("the window grows while delays are short, up to its maximum")
    func grows() {
        var window = InFlightWindow()
        let counts = (0..<40).map { _ in fillAndAcknowledge(&window, delay: 200_000) }
        #expect(counts.first == Int64(InFlightWindow.initialSize))
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 || $1 == Int64(InFlightWindow.maxSize) })
        #expect(counts.last == Int64(InFlightWindow.maxSize))
    }

    @Test("the window halves when delays are long, down to its minimum", arguments: [nil, 0, 900_000])
    func shrinks(holdTime: Int64?) {
        var window = InFlightWindow()
        for _ in 0..<40 { _ = fillAndAcknowledge(&window, delay: 200_000, holdTime: holdTime) }
        let counts = (0..<20).map { _ in fillAndAcknowledge(&window, delay: 800_000, holdTime: holdTime) }
        #expect(counts[1] == Int64(InFlightWindow.maxSize / 2))
        #expect(counts.last == Int64(InFlightWindow.minSize))
        let after = (0..<8).map { _ in fillAndAcknowledge(&window, delay: 200_000, holdTime: holdTime) }
        #expect(after == [4, 5, 6, 7, 8, 10, 12, 15], "the window grows more slowly than at the start")
        let between = (0..<3).map { _ in fillAndAcknowledge(&window, delay: 400_000, holdTime: holdTime) }
        #expect(Set(between).count == 1, "the window does not change for medium delays")
    }

    @Test("the newest acknowledged batch determines the delay, including live batches")
    func live() {
        var window = InFlightWindow()
        func publish(_ seq: Int64, isBacklog: Bool, at boot: Int64) {
            window.didPublish(BatchPosition(epoch: epoch, seq: seq), isBacklog: isBacklog, at: boot)
        }
        for seq in 1...8 as ClosedRange<Int64> { publish(seq, isBacklog: true, at: 0) }
        #expect(!window.isOpen)
        publish(9, isBacklog: false, at: 1_000_000)
        window.acknowledge(SequenceSet([1...9]), holdTime: 100_000, of: epoch, at: 1_200_000)
        #expect(window.size == 16 && window.isOpen)
        for seq in 11...26 as ClosedRange<Int64> { publish(seq, isBacklog: true, at: 2_000_000) }
        publish(27, isBacklog: false, at: 2_000_000)
        window.acknowledge(SequenceSet([1...27]), holdTime: 100_000, of: epoch, at: 2_900_000)
        #expect(window.size == 8)
        publish(28, isBacklog: false, at: 3_000_000)
        window.acknowledge(SequenceSet([1...28]), holdTime: 0, of: epoch, at: 3_900_000)
        #expect(window.size == 8, "live batches alone do not change the window")
    }

    @Test("the window does not grow while most of it is unused")
    func unused() {
        var window = InFlightWindow()
        for _ in 0..<4 { _ = fillAndAcknowledge(&window, delay: 0) }
        let size = window.size
        for seq in 1001...1010 as ClosedRange<Int64> {
            window.didPublish(BatchPosition(epoch: epoch, seq: seq), isBacklog: true, at: 0)
            window.acknowledge(SequenceSet([1...seq]), holdTime: 0, of: epoch, at: 1)
        }
        #expect(size == 128 && window.size == size)
    }

    @Test("the round-trip time of a slow network does not count as delay")
    func slowNetwork() {
        var window = InFlightWindow()
        for (seq, duration) in [(1, 700_000), (2, 900_000)] as [(Int64, Int64)] {
            window.didPublish(BatchPosition(epoch: epoch, seq: seq), isBacklog: true, at: 0)
            window.confirm(BatchPosition(epoch: epoch, seq: seq), at: duration)
        }
        let counts = (0..<3).map { _ in fillAndAcknowledge(&window, delay: 800_000) }
        #expect(counts[1] > counts[0] && counts[2] > counts[1])
    }

    @Test("batches that no collector stores do not block other epochs")
    func neverStored() {
        let other = Epoch(unchecked: "f")
        var delivery = Delivery(pending: [epoch: SequenceSet([1...1000]), other: SequenceSet([1...200])])
        var stored = SequenceSet()
        for second in 0..<300 as Range<Int64> {
            let boot = second * 1_000_000
            delivery.tick(at: boot)
            while delivery.canSendBacklog, let next = delivery.nextBacklog(limit: 1).first {
                delivery.didPublishBacklog(next, as: Int32(next.seq), at: boot)
                _ = delivery.didReceivePuback(Int32(next.seq), at: boot)
                if next.epoch == other { stored.insert(next.seq...next.seq) }
            }
            if !stored.isEmpty {
                delivery.handle(Acknowledgement(epoch: other, received: stored), at: boot + 1_000_000)
            }
        }
        #expect(stored == SequenceSet([1...200]))
    }

    @Test("the window opens again after a timeout if only live batches are acknowledged")
    func opensAgain() {
        let live = Epoch(unchecked: "live")
        var delivery = Delivery(pending: [epoch: SequenceSet([1...1000])])
        while delivery.canSendBacklog, let next = delivery.nextBacklog(limit: 1).first {
            delivery.didPublishBacklog(next, as: Int32(next.seq), at: 0)
            _ = delivery.didReceivePuback(Int32(next.seq), at: 0)
        }
        var isOpen: [Bool] = []
        for second in 1...6 as ClosedRange<Int64> {
            delivery.didPublish(BatchPosition(epoch: live, seq: second), as: 2000)
            _ = delivery.didReceivePuback(2000)
            let ack = Acknowledgement(epoch: live, received: SequenceSet([1...second]))
            delivery.handle(ack, at: second * 1_000_000)
            delivery.tick(at: second * 1_000_000)
            isOpen.append(delivery.canSendBacklog)
        }
        #expect(isOpen == [false, false, false, false, true, true])
    }

    @Test("the window is not limited if the broker acknowledges")
    func brokerAcknowledges() {
        var delivery = Delivery(pending: [epoch: SequenceSet([1...100])], waitsForCollector: false)
        for _ in 0..<100 {
            guard delivery.canSendBacklog, let next = delivery.nextBacklog(limit: 1).first else { break }
            delivery.didPublishBacklog(next, as: Int32(next.seq), at: 0)
            _ = delivery.didReceivePuback(Int32(next.seq), at: 0)
        }
        #expect(!delivery.hasBacklog)
    }

    @Test("a batch stays in the window until the collector acknowledges it or it is forgotten")
    func waits() {
        var delivery = Delivery(pending: [epoch: SequenceSet([1...100])])
        var sent: [BatchPosition] = []
        func send() {
            while delivery.canSendBacklog, let next = delivery.nextBacklog(limit: 1).first {
                delivery.didPublishBacklog(next, as: Int32(next.seq), at: 0)
                #expect(delivery.didReceivePuback(Int32(next.seq)) == next)
                sent.append(next)
            }
        }
        send()
        #expect(sent.count == InFlightWindow.initialSize)
        delivery.handle(Acknowledgement(epoch: epoch, received: SequenceSet([1...4]), holdTime: 0), at: 100_000)
        send()
        #expect(sent.count > InFlightWindow.initialSize && sent.count <= 3 * InFlightWindow.initialSize)
        let before = sent.count
        delivery.forget([epoch: SequenceSet([5...8])])
        send()
        #expect(sent.count == before + 4)
        delivery.didDisconnect()
        delivery.didConnect(at: 0)
        send()
        #expect(sent.count > before + 4, "a new connection starts with no batch in flight")
    }
}
