import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("Batches that the broker refuses")
struct RefusedBatchTests {
    private let first = DeviceDelivery.initialRetryDelay

    private func delivery(refusing numbers: ClosedRange<Int64>) -> DeviceDelivery {
        var delivery = DeviceDelivery(pending: [:])
        delivery.didConnect(at: 0)
        for number in numbers { delivery.refuse(number, at: 0) }
        return delivery
    }

    @Test("only the ten lowest batches are retried after the delay")
    func retry() {
        var delivery = delivery(refusing: 1...25)
        #expect(!delivery.hasBacklog && !delivery.isEmpty && delivery.inFlightCount == 0)
        delivery.tick(at: first - 1)
        #expect(!delivery.hasBacklog)
        delivery.tick(at: first)
        #expect(delivery.backlog == Array(1...10))
    }

    @Test("refused batches are retried in turn, ten at a time")
    func turns() {
        var delivery = delivery(refusing: 1...25)
        var tried: [[Int64]] = []
        for round in 0..<3 as Range<Int64> {
            let boot = (first << round) * 2
            delivery.tick(at: boot)
            tried.append(delivery.backlog)
            for number in delivery.backlog { delivery.refuse(number, at: boot) }
        }
        #expect(tried[0] == Array(1...10) && tried[1] == Array(11...20))
        #expect(tried[2] == Array(1...5) + Array(21...25))
    }

    @Test("the delay doubles each time, up to five minutes")
    func doubling() {
        var delivery = delivery(refusing: 1...3)
        var waits: [Int64] = []
        var last: Int64 = 0
        for second in 1...2000 as ClosedRange<Int64> {
            delivery.tick(at: second * 1_000_000)
            guard delivery.hasBacklog else { continue }
            #expect(delivery.backlog == [1, 2, 3])
            for number in 1...3 as ClosedRange<Int64> { delivery.refuse(number, at: second * 1_000_000) }
            waits.append(second - last)
            last = second
        }
        #expect(waits.prefix(8) == [5, 10, 20, 40, 80, 160, 300, 300])
    }

    @Test("all refused batches are sent again as soon as one is accepted")
    func accepted() {
        var delivery = delivery(refusing: 1...25)
        delivery.tick(at: first)
        delivery.deliver(1...1)
        #expect(delivery.backlog == Array(2...25))
    }

    @Test("refused batches are sent again on the next connection, unless they are stored or dropped")
    func ends() {
        var delivery = delivery(refusing: 1...4)
        delivery.forget([epoch: [2...2]])
        delivery.handle(Acknowledgement(epoch: epoch, through: 1), at: 0)
        delivery.didDisconnect()
        delivery.didConnect(at: 1)
        #expect(delivery.backlog == [3, 4])
        delivery.refuse(3, at: 2)
        delivery.refuse(4, at: 2)
        delivery.handle(Acknowledgement(epoch: epoch, through: 4), at: 2)
        #expect(delivery.isEmpty)
    }
}

extension DeviceDelivery {
    /// Publishes a batch with its number as message id, and handles its refusal.
    fileprivate mutating func refuse(_ number: Int64, at boot: Int64) {
        didPublish(at(number), as: Int32(number))
        didRefuse(Int32(number), at: boot)
    }
}
