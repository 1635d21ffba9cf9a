import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The in-flight window")
struct InFlightWindowTests {
    private let epoch = Epoch(unchecked: "e")

    /// The time in µs of the boot clock.
    private var now: Int64 = 0

    /// Fills the window, and acknowledges it after a queueing delay of `delay` µs and the hold time of the collector.
    /// - Parameter network: the time until the PUBACK in µs.
    /// - Returns: the number of batches.
    private mutating func fillAndAcknowledge(
        _ window: inout InFlightWindow, delay: Int64, holdTime: Int64? = 700_000, network: Int64 = 0
    ) -> Int64 {
        var count: Int64 = 0
        window.tick(at: now)
        while window.isOpen {
            count += 1
            window.didPublish(BatchPosition(epoch: epoch, seq: count), isBacklog: true, at: now)
        }
        now += network
        for seq in 1...max(1, count) { window.confirm(BatchPosition(epoch: epoch, seq: seq), at: now) }
        now += delay + (holdTime ?? InFlightWindow.defaultHoldTime)
        window.acknowledge(SequenceSet([1...max(1, count)]), holdTime: holdTime, of: epoch, at: now)
        return count
    }

    @Test("the window grows while delays are short, up to its maximum")
    mutating func grows() {
        var window = InFlightWindow()
        let counts = (0..<40).map { _ in fillAndAcknowledge(&window, delay: 200_000) }
        #expect(counts.first == Int64(InFlightWindow.initialSize))
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 < $1 || $1 == Int64(InFlightWindow.maxSize) })
        #expect(counts.last == Int64(InFlightWindow.maxSize))
    }

    @Test("the window halves when delays are long, down to its minimum", arguments: [nil, 0, 900_000])
    mutating func shrinks(holdTime: Int64?) {
        var window = InFlightWindow()
        for _ in 0..<40 { _ = fillAndAcknowledge(&window, delay: 0, holdTime: holdTime) }
        let counts = (0..<9).map { _ in fillAndAcknowledge(&window, delay: 800_000, holdTime: holdTime) }
        #expect(counts[1] == Int64(InFlightWindow.maxSize / 2) && counts[8] == 4)
        let after = (0..<8).map { _ in fillAndAcknowledge(&window, delay: 200_000, holdTime: holdTime) }
        #expect(after == [2, 3, 4, 4, 5, 6, 8, 10], "the window grows more slowly than at the start")
        let between = (0..<3).map { _ in fillAndAcknowledge(&window, delay: 400_000, holdTime: holdTime) }
        #expect(Set(between).count == 1, "the window does not change for medium delays")
        for _ in 0..<30 { _ = fillAndAcknowledge(&window, delay: 800_000, holdTime: holdTime) }
        #expect(window.size == InFlightWindow.minSize)
    }

    @Test("a window below one is closed for a time after each batch")
    mutating func belowOne() {
        var window = InFlightWindow()
        _ = fillAndAcknowledge(&window, delay: 0, holdTime: 0)
        for _ in 1...6 {
            now += 6_000_000
            #expect(fillAndAcknowledge(&window, delay: 800_000, holdTime: 0) >= 1)
        }
        #expect(window.size == InFlightWindow.minSize)
        // The last round trip took 0.8 s; seven times as long, nothing is in flight.
        window.tick(at: now + 5_500_000)
        #expect(!window.isOpen)
        window.tick(at: now + 5_700_000)
        #expect(window.isOpen)
    }

    @Test("batches that were published before a reduction do not reduce the window again")
    func once() {
        var window = InFlightWindow()
        for seq in 1...4 as ClosedRange<Int64> {
            window.didPublish(BatchPosition(epoch: epoch, seq: seq), isBacklog: true, at: 0)
            window.confirm(BatchPosition(epoch: epoch, seq: seq), at: 0)
        }
        // The first acknowledgement sets the delay of a collector without a queue.
        window.acknowledge(SequenceSet([1...1]), holdTime: 0, of: epoch, at: 0)
        let size = window.size
        window.acknowledge(SequenceSet([2...2]), holdTime: 0, of: epoch, at: 800_000)
        window.acknowledge(SequenceSet([3...3]), holdTime: 0, of: epoch, at: 1_600_000)
        #expect(window.size == size / 2)
    }

    @Test("the newest acknowledged batch determines the delay, including live batches")
    func live() {
        var window = InFlightWindow()
        func publish(_ seq: Int64, isBacklog: Bool, at boot: Int64) {
            window.didPublish(BatchPosition(epoch: epoch, seq: seq), isBacklog: isBacklog, at: boot)
            window.confirm(BatchPosition(epoch: epoch, seq: seq), at: boot)
        }
        for seq in 1...4 as ClosedRange<Int64> { publish(seq, isBacklog: true, at: 0) }
        #expect(!window.isOpen)
        publish(9, isBacklog: false, at: 1_000_000)
        window.acknowledge(SequenceSet([1...9]), holdTime: 200_000, of: epoch, at: 1_200_000)
        #expect(window.size == 8 && window.isOpen)
        for seq in 11...18 as ClosedRange<Int64> { publish(seq, isBacklog: true, at: 2_000_000) }
        publish(27, isBacklog: false, at: 2_000_000)
        window.acknowledge(SequenceSet([1...27]), holdTime: 100_000, of: epoch, at: 2_900_000)
        #expect(window.size == 4)
        publish(28, isBacklog: false, at: 3_000_000)
        window.acknowledge(SequenceSet([1...28]), holdTime: 0, of: epoch, at: 3_900_000)
        #expect(window.size == 4, "live batches alone do not change the window")
    }

    @Test("the window does not grow while most of it is unused")
    mutating func unused() {
        var window = InFlightWindow()
        for _ in 0..<4 { _ = fillAndAcknowledge(&window, delay: 0) }
        let size = window.size
        for seq in 1001...1010 as ClosedRange<Int64> {
            window.didPublish(BatchPosition(epoch: epoch, seq: seq), isBacklog: true, at: 0)
            window.acknowledge(SequenceSet([1...seq]), holdTime: 0, of: epoch, at: 1)
        }
        #expect(size == 64 && window.size == size)
    }

    @Test("neither latency nor queues of the network count as delay", arguments: [2_000_000, 9_000_000])
    mutating func slowNetwork(network: Int64) {
        var window = InFlightWindow()
        let counts = (0..<3).map { _ in fillAndAcknowledge(&window, delay: 100_000, network: network) }
        #expect(counts[1] > counts[0] && counts[2] > counts[1])
    }

    @Test("on a slow network, batches time out after their PUBACK only")
    func slowPuback() {
        var window = InFlightWindow()
        while window.isOpen {
            window.didPublish(BatchPosition(epoch: epoch, seq: Int64.random(in: 1...(1 << 40))), isBacklog: true, at: 0)
        }
        window.tick(at: 60_000_000)
        #expect(!window.isOpen)
    }

    @Test("batches that no collector stores do not block other epochs")
    func neverStored() {
        let other = Epoch(unchecked: "f")
        var delivery = DeviceDelivery(pending: [epoch: SequenceSet([1...1000]), other: SequenceSet([1...200])])
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
        var delivery = DeviceDelivery(pending: [epoch: SequenceSet([1...1000])])
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
        var delivery = DeviceDelivery(pending: [epoch: SequenceSet([1...100])], waitsForCollector: false)
        for _ in 0..<100 {
            guard delivery.canSendBacklog, let next = delivery.nextBacklog(limit: 1).first else { break }
            delivery.didPublishBacklog(next, as: Int32(next.seq), at: 0)
            _ = delivery.didReceivePuback(Int32(next.seq), at: 0)
        }
        #expect(!delivery.hasBacklog)
    }

    @Test("a batch stays in the window until the collector acknowledges it or it is forgotten")
    func waits() {
        var delivery = DeviceDelivery(pending: [epoch: SequenceSet([1...100])])
        var sent: [BatchPosition] = []
        func send() {
            while delivery.canSendBacklog, let next = delivery.nextBacklog(limit: 1).first {
                delivery.didPublishBacklog(next, as: Int32(next.seq), at: 0)
                #expect(delivery.didReceivePuback(Int32(next.seq)) == next)
                sent.append(next)
            }
        }
        send()
        #expect(Double(sent.count) == InFlightWindow.initialSize)
        delivery.handle(Acknowledgement(epoch: epoch, received: SequenceSet([1...2]), holdTime: 0), at: 100_000)
        send()
        #expect((5...12).contains(sent.count))
        let before = sent.count
        delivery.forget([epoch: SequenceSet([3...4])])
        send()
        #expect(sent.count == before + 2)
        delivery.didDisconnect()
        delivery.didConnect(at: 0)
        send()
        #expect(sent.count > before + 2, "a new connection starts with no batch in flight")
    }
}
