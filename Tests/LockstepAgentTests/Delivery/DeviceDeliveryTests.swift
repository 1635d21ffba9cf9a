import LockstepModel
import Testing

@testable import LockstepAgent

let epoch = Epoch(unchecked: "e")

func at(_ seq: Int64, _ epoch: Epoch = epoch) -> BatchPosition { BatchPosition(epoch: epoch, seq: seq) }

extension DeviceDelivery {
    /// Publishes batches one by one with their number as message id, and handles their PUBACKs.
    mutating func deliver(_ numbers: ClosedRange<Int64>) {
        for number in numbers {
            didPublish(at(number), as: Int32(number))
            _ = didReceivePuback(Int32(number))
        }
    }

    /// The numbers of the unsent batches.
    var backlog: [Int64] { nextBacklog(limit: .max).map(\.seq) }
}

@Suite("The delivery of batches")
struct DeliveryTests {
    @Test("the batches in the outbox are backlog, lowest numbers first")
    func pending() {
        let delivery = DeviceDelivery(pending: [epoch: [5...6, 9...9], Epoch(unchecked: "none"): []])
        #expect(!delivery.isEmpty && delivery.hasBacklog)
        #expect(delivery.unsentCount == 3)
        #expect(delivery.nextBacklog(limit: 2) == [at(5), at(6)])
        #expect(delivery.nextBacklog(limit: 0).isEmpty)
        #expect(delivery.backlog == [5, 6, 9])
    }

    @Test("a batch is unsent, then in flight, then awaits its acknowledgement")
    func states() {
        var delivery = DeviceDelivery(pending: [:])
        #expect(delivery.isEmpty && !delivery.hasBacklog)
        delivery.enqueue(at(1))
        #expect(delivery.backlog == [1])
        delivery.didPublish(at(1), as: 7)
        #expect(!delivery.hasBacklog && delivery.inFlightCount == 1 && !delivery.isEmpty)
        #expect(delivery.didReceivePuback(7) == at(1))
        #expect(delivery.inFlightCount == 0 && !delivery.isEmpty)
        delivery.handle(Acknowledgement(epoch: epoch, through: 1), at: 0)
        #expect(delivery.isEmpty)
    }

    @Test("the retry delay of a batch starts with its PUBACK, for a new device and after a long time without batches")
    func retryDelayAfterSilence() {
        var delivery = DeviceDelivery(pending: [:])
        for (seq, start) in [(1, 100_000_000), (2, 200_000_000)] as [(Int64, Int64)] {
            delivery.didPublish(at(seq), as: 7, at: start)
            _ = delivery.didReceivePuback(7, at: start)
            delivery.tick(at: start + DeviceDelivery.initialRetryDelay - 1)
            #expect(!delivery.hasBacklog)
            var late = delivery
            late.tick(at: start + DeviceDelivery.initialRetryDelay)
            #expect(late.backlog == [seq])
            delivery.handle(Acknowledgement(epoch: epoch, through: seq), at: start + DeviceDelivery.initialRetryDelay)
        }
    }

    @Test("the PUBACK of a message without a batch is ignored")
    func unknownMessage() {
        var delivery = DeviceDelivery(pending: [:])
        #expect(delivery.didReceivePuback(7) == nil)
        delivery.didRefuse(7, at: 0)
        #expect(delivery.isEmpty)
    }

    @Test("an acknowledgement removes a batch in any state")
    func acknowledged() {
        var delivery = DeviceDelivery(pending: [epoch: [1...3]])
        delivery.didPublish(at(2), as: 2)
        delivery.didPublish(at(3), as: 3)
        _ = delivery.didReceivePuback(3)
        delivery.handle(Acknowledgement(epoch: epoch, through: 3), at: 0)
        #expect(delivery.isEmpty)
        #expect(delivery.didReceivePuback(2) == nil)
        #expect(delivery.isEmpty)
    }

    @Test("an acknowledgement does not affect other epochs")
    func otherEpoch() {
        let other = Epoch(unchecked: "f")
        var delivery = DeviceDelivery(pending: [epoch: [1...2], other: [1...2]])
        delivery.didPublish(at(1, other), as: 1)
        delivery.didPublish(at(2, other), as: 2)
        _ = delivery.didReceivePuback(2)
        delivery.handle(Acknowledgement(epoch: epoch, through: 9), at: 0)
        #expect(!delivery.hasBacklog && delivery.inFlightCount == 1 && !delivery.isEmpty)
        delivery.handle(Acknowledgement(epoch: other, through: 2), at: 0)
        #expect(delivery.isEmpty)
    }

    @Test("when the connection is lost, exactly the batches in flight become backlog")
    func disconnect() {
        var delivery = DeviceDelivery(pending: [epoch: [1...1]])
        delivery.deliver(2...3)
        delivery.didPublish(at(4), as: 4)
        delivery.didPublish(at(5), as: 5)
        delivery.didDisconnect()
        #expect(delivery.inFlightCount == 0)
        #expect(delivery.backlog == [1, 4, 5])
        delivery.didConnect(at: 0)
        #expect(delivery.backlog == [1, 4, 5])
    }

    @Test("a batch that is too large for the broker is excluded until the next connection")
    func tooLarge() {
        var delivery = DeviceDelivery(pending: [epoch: [1...2]])
        delivery.markTooLarge(at(1))
        #expect(delivery.backlog == [2] && !delivery.isEmpty)
        delivery.markTooLarge(at(2))
        #expect(!delivery.hasBacklog && !delivery.isEmpty)
        delivery.didDisconnect()
        #expect(!delivery.hasBacklog)
        delivery.didConnect(at: 0)
        #expect(delivery.backlog == [1, 2])
        delivery.markTooLarge(at(1))
        delivery.markTooLarge(at(2))
        delivery.forget([epoch: [1...1]])
        delivery.handle(Acknowledgement(epoch: epoch, through: 2), at: 0)
        #expect(delivery.isEmpty)
    }

    @Test("batches that are no longer in the outbox can be removed")
    func forget() {
        var delivery = DeviceDelivery(pending: [epoch: [1...3]])
        delivery.didPublish(at(1), as: 1)
        _ = delivery.didReceivePuback(1)
        delivery.forget([epoch: [1...2]])
        #expect(delivery.backlog == [3])
        delivery.forget([epoch: [3...3]])
        #expect(delivery.isEmpty && !delivery.hasBacklog)
    }
}
