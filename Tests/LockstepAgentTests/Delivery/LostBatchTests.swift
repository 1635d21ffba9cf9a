import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("Lost batches")
struct LostBatchTests {
    @Test("a missing batch is sent again if a batch published after it is stored")
    func missing() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.deliver(1...4)
        delivery.handle(Acknowledgement(epoch: epoch, through: 1, missing: [2...3], highest: 4), at: 0)
        #expect(delivery.backlog == [2, 3])
    }

    @Test("the first published batch is sent again if it is missing")
    func missingFirst() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.deliver(1...2)
        delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...1], highest: 2), at: 0)
        #expect(delivery.backlog == [1])
    }

    @Test("missing batches of a burst are sent again")
    func missingInBurst() {
        var delivery = DeviceDelivery(pending: [:])
        for first in [1, 4, 7] as [Int64] {
            for number in first...(first + 2) { delivery.didPublish(at(number), as: Int32(number)) }
            for number in first...(first + 2) { _ = delivery.didReceivePuback(Int32(number)) }
        }
        delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...1, 4...5], highest: 9), at: 0)
        #expect(delivery.backlog == [1, 4, 5])
    }

    @Test("a missing batch is not sent again if the stored batch was published before it")
    func publishedAfter() {
        var delivery = DeviceDelivery(pending: [epoch: [5...5]])
        delivery.didPublish(at(10), as: 10)
        delivery.didPublish(at(5), as: 5)
        _ = delivery.didReceivePuback(10)
        _ = delivery.didReceivePuback(5)
        delivery.handle(Acknowledgement(epoch: epoch, through: 4, missing: [5...9], highest: 10), at: 0)
        #expect(!delivery.hasBacklog && !delivery.isEmpty)
        delivery.deliver(11...11)
        delivery.handle(Acknowledgement(epoch: epoch, through: 4, missing: [5...9], highest: 11), at: 0)
        #expect(delivery.backlog == [5])
    }

    @Test("a missing batch is not sent again if no batch published after its PUBACK is stored")
    func laterNotStored() {
        var delivery = DeviceDelivery(pending: [epoch: [1...2]])
        for number in 1...2 as ClosedRange<Int64> { delivery.didPublish(at(number), as: Int32(number)) }
        for number in 1...2 as ClosedRange<Int64> { _ = delivery.didReceivePuback(Int32(number)) }
        delivery.deliver(3...3)
        delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...1], highest: 2), at: 0)
        #expect(!delivery.hasBacklog && !delivery.isEmpty)
        delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...1], highest: 3), at: 0)
        #expect(delivery.backlog == [1])
    }

    @Test("a missing batch is not sent again before its PUBACK")
    func inFlight() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.didPublish(at(1), as: 1)
        delivery.deliver(2...4)
        delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...1], highest: 4), at: 0)
        #expect(!delivery.hasBacklog && delivery.inFlightCount == 1)
    }

    @Test("a gap in another epoch has no effect")
    func otherEpoch() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.deliver(1...2)
        let other = Acknowledgement(epoch: Epoch(unchecked: "f"), through: 0, missing: [1...1], highest: 2)
        delivery.handle(other, at: 0)
        #expect(!delivery.hasBacklog && !delivery.isEmpty)
    }

    @Test("a lost batch is sent again at once three times, then with backoff")
    func neverStored() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.deliver(1...2)
        for followers in 3...5 as ClosedRange<Int64> {
            delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...1], highest: followers - 1), at: 0)
            #expect(delivery.backlog == [1])
            delivery.deliver(1...1)
            delivery.deliver(followers...followers)
        }
        let ack = Acknowledgement(epoch: epoch, through: 0, missing: [1...1], highest: 5)
        delivery.handle(ack, at: 0)
        #expect(!delivery.hasBacklog && !delivery.isEmpty)
        delivery.tick(at: DeviceDelivery.initialRetryDelay - 1)
        #expect(!delivery.hasBacklog)
        delivery.tick(at: DeviceDelivery.initialRetryDelay)
        #expect(delivery.backlog == [1])
        delivery.deliver(1...1)
        delivery.handle(Acknowledgement(epoch: epoch, through: 5), at: DeviceDelivery.initialRetryDelay)
        #expect(delivery.isEmpty)
    }

    @Test("when a retried batch is stored, all other batches in backoff are sent again at once")
    func retriedBatchStored() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.deliver(1...21)
        for followers in 22...25 as ClosedRange<Int64> {
            delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...20], highest: followers - 1), at: 0)
            for number in delivery.backlog { delivery.deliver(number...number) }
            delivery.deliver(followers...followers)
        }
        delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...20], highest: 25), at: 0)
        #expect(!delivery.hasBacklog)
        delivery.tick(at: DeviceDelivery.initialRetryDelay)
        #expect(delivery.backlog == Array(1...10))
        delivery.deliver(1...10)
        delivery.handle(Acknowledgement(epoch: epoch, through: 1, missing: [2...20], highest: 25), at: 0)
        #expect(delivery.backlog == Array(11...20))
    }

    @Test("a batch in backoff is sent again on the next connection")
    func nextConnection() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.deliver(1...2)
        for followers in 3...6 as ClosedRange<Int64> {
            delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: [1...1], highest: followers - 1), at: 0)
            for number in delivery.backlog { delivery.deliver(number...number) }
            delivery.deliver(followers...followers)
        }
        #expect(!delivery.hasBacklog)
        delivery.didDisconnect()
        delivery.didConnect(at: 1)
        #expect(delivery.backlog == [1])
    }

    @Test("missing batches are found after many batches without an acknowledgement")
    func manyBuckets() {
        var delivery = DeviceDelivery(pending: [:])
        delivery.deliver(1...503)
        #expect(!delivery.hasBacklog && !delivery.isEmpty)
        let missing: [ClosedRange<Int64>] = [1...7, 100...100, 400...440, 498...500]
        delivery.handle(Acknowledgement(epoch: epoch, through: 0, missing: missing, highest: 503), at: 0)
        #expect(SequenceSet(delivery.backlog.map { $0...$0 }) == SequenceSet(missing))
        delivery.handle(Acknowledgement(epoch: epoch, through: 503), at: 0)
        #expect(delivery.isEmpty)
    }
}

@Suite("The retry delay of batches that await their acknowledgement")
struct RetryDelayTests {
    private let second: Int64 = 1_000_000
    private let first = DeviceDelivery.initialRetryDelay

    private func delivery(awaiting count: Int64) -> DeviceDelivery {
        var delivery = DeviceDelivery(pending: [:])
        delivery.didConnect(at: 0)
        delivery.deliver(1...count)
        return delivery
    }

    @Test("the ten lowest batches and the highest one are sent again after the first delay")
    func probe() {
        #expect((2 * second...20 * second).contains(first))
        var delivery = delivery(awaiting: 25)
        delivery.tick(at: first - 1)
        #expect(!delivery.hasBacklog)
        delivery.tick(at: first)
        #expect(delivery.backlog == Array(1...10) + [25])
    }

    @Test("if the broker had no subscriber, all batches are sent again after the first retry, without live data")
    func lostBeforeTheCollector() {
        var delivery = delivery(awaiting: 3000)
        delivery.tick(at: first)
        for number in delivery.backlog { delivery.deliver(number...number) }
        let stored: SequenceSet = [1...10, 3000...3000]
        delivery.handle(Acknowledgement(epoch: epoch, received: stored), at: first + second)
        #expect(delivery.backlog == Array(11...2999))
    }

    @Test("the delay doubles each time, up to five minutes")
    func doubling() {
        var delivery = delivery(awaiting: 100)
        var waits: [Int64] = []
        var last: Int64 = 0
        var unsent: Int64 = 0
        for now in 1...2000 as ClosedRange<Int64> {
            delivery.tick(at: now * second)
            guard delivery.unsentCount > unsent else { continue }
            unsent = delivery.unsentCount
            waits.append(now - last)
            last = now
        }
        let expected = (0..<8).map { min((first / second) << $0, 300) }
        #expect(waits.prefix(8) == expected[...])
    }

    @Test("progress resets the delay", arguments: [true, false])
    func progress(_ isAcknowledged: Bool) {
        var delivery = delivery(awaiting: 100)
        delivery.tick(at: first)
        delivery.tick(at: 3 * first)
        #expect(delivery.unsentCount == 22)
        let then = 4 * first
        if isAcknowledged {
            delivery.handle(Acknowledgement(epoch: epoch, through: 20), at: then)
        } else {
            delivery.didConnect(at: then)
        }
        let before = delivery.unsentCount
        delivery.tick(at: then + first - 1)
        #expect(delivery.unsentCount == before)
        delivery.tick(at: then + first)
        #expect(delivery.unsentCount == before + 11)
    }

    @Test("an acknowledgement without progress does not reset the delay")
    func noProgress() {
        var delivery = delivery(awaiting: 20)
        delivery.handle(Acknowledgement(epoch: epoch, through: 0), at: first - 1)
        delivery.tick(at: first)
        #expect(delivery.unsentCount == 11)
    }
}
