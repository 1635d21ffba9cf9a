import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("Batches that are missing in a store and not in the outbox any more")
struct GoneBatchTests {
    private var loop = FakeLoop()

    private mutating func acknowledge(missing: ClosedRange<Int64>, highest: Int64) -> [String] {
        _ = loop.take()
        let ack = Acknowledgement(epoch: Epoch(unchecked: "e"), through: 0, missing: [missing], highest: highest)
        loop.send(.acknowledgement(ack, isNewerThanOutbox: false))
        loop.turn(after: 1_100_000)
        return loop.take().filter { $0.hasPrefix("presence") }
    }

    @Test("an acknowledgement that lists them as missing makes the agent publish its presence, once")
    mutating func presence() {
        loop.connect()
        loop.subscribed()
        loop.add([1])
        loop.turn(after: 1_000_000)
        loop.acknowledgeMessages()
        #expect(acknowledge(missing: 1...4, highest: 9).count == 1)
        #expect(acknowledge(missing: 1...4, highest: 10).isEmpty)
        #expect(acknowledge(missing: 1...5, highest: 11).count == 1)
    }

    @Test("only batches that do not wait for an acknowledgement are gone")
    func gone() {
        var delivery = DeviceDelivery(pending: [epoch: [2...3, 5...5]])
        delivery.didPublish(at(5), as: 1)
        delivery.didPublish(at(6), as: 2)
        _ = delivery.didReceivePuback(2)
        let ack = Acknowledgement(epoch: epoch, through: 0, missing: [1...6], highest: 7)
        #expect(delivery.gone(of: ack) == [1...1, 4...4])
        #expect(delivery.pending(of: epoch) == [2...3, 5...6])
        #expect(delivery.gone(of: Acknowledgement(epoch: epoch, through: 7)).isEmpty)
    }
}
