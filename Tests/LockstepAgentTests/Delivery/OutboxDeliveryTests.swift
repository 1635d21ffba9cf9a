import LockstepMQTT
import LockstepModel
import Testing

@testable import LockstepAgent

@Suite("The delivery of many devices over one link")
struct OutboxDeliveryTests {
    private let epoch = Epoch(unchecked: "e")
    private var delivery = OutboxDelivery(backlogRate: 10_000)
    private var lastID: Int32 = 0
    private var boot: Int64 = 10_000_000

    private mutating func add(_ devices: Int, pending: SequenceSet = SequenceSet()) {
        for _ in 0..<devices { delivery.add(pending: [epoch: pending], at: boot) }
    }

    private mutating func connect() {
        delivery.didConnect(at: boot)
        for device in 0..<delivery.count { delivery.didSubscribe(device, at: boot) }
        boot += OutboxDelivery.acknowledgementDelay
    }

    /// Publishes a live batch.
    private mutating func live(_ seq: Int64, of device: Int) {
        lastID += 1
        let outcome = OutboxDelivery.Outcome.published(id: lastID, bytes: 1000)
        _ = delivery.didPublish(
            BatchPosition(epoch: epoch, seq: seq), of: device, isBacklog: false, outcome, at: boot)
    }

    /// Publishes backlog as long as it may be published, and returns the devices.
    private mutating func backlog(bytes: Int = 1000, _ outcome: OutboxDelivery.Outcome? = nil) -> [Int] {
        var devices: [Int] = []
        delivery.beginBacklog()
        while let (device, position) = delivery.nextBacklogBatch(at: boot) {
            lastID += 1
            let outcome = outcome ?? .published(id: lastID, bytes: bytes)
            _ = delivery.didPublish(position, of: device, isBacklog: true, outcome, at: boot)
            devices.append(device)
            guard outcome.allowsMore else { break }
        }
        return devices
    }

    private mutating func acknowledgeMessages() {
        for id in 0...lastID { delivery.didReceivePuback(id, at: boot) }
    }

    @Test("devices take turns when the link has no room for all of them")
    mutating func turns() {
        add(3, pending: [1...9])
        connect()
        var order: [Int] = []
        for _ in 0..<6 {
            order += backlog(bytes: 1_000_000)
            boot += 100_000_000
            acknowledgeMessages()
        }
        #expect(order == [1, 2, 0, 1, 2, 0])
    }

    @Test("each device has its own byte rate and its own part of the collector's queue")
    mutating func budgets() {
        add(2, pending: [1...9])
        connect()
        // The first four batches of each.
        #expect(backlog(bytes: 100) == [1, 1, 1, 1, 0, 0, 0, 0])
        acknowledgeMessages()
        #expect(backlog().isEmpty, "both wait for the collector")
        #expect(delivery.handle(Acknowledgement(epoch: epoch, through: 4, holdTime: 0), of: 0, at: boot) == false)
        #expect(backlog(bytes: 100_000) == [0], "the rate of the device is used up")
    }

    @Test("backlog of a device waits for the acknowledgement that the broker keeps, and begins at once with it")
    mutating func start() {
        add(2, pending: [1...2])
        delivery.didConnect(at: boot)
        #expect(backlog().isEmpty && delivery.needsSubscription(0))
        delivery.didSubscribe(0, at: boot)
        #expect(!delivery.needsSubscription(0) && delivery.needsSubscription(1))
        _ = delivery.handle(Acknowledgement(epoch: epoch, through: 1), of: 0, at: boot)
        #expect(backlog() == [0])
        delivery.didDisconnect()
        _ = delivery.handle(Acknowledgement(epoch: epoch, through: 1), of: 0, at: boot)
        delivery.didConnect(at: boot)
        boot += 10_000_000
        #expect(backlog().isEmpty && delivery.needsSubscription(0))
    }

    @Test("live batches of one device are limited, those of another are still published")
    mutating func liveLimit() {
        add(2)
        connect()
        for seq in 1...Int64(DeviceDelivery.maxInFlight) { live(seq, of: 0) }
        #expect(!delivery.canPublishLive(of: 0) && delivery.canPublishLive(of: 1))
    }

    @Test("an acknowledged batch can be removed within two seconds, until a commit has succeeded")
    mutating func removal() {
        add(2)
        connect()
        live(1, of: 1)
        #expect(delivery.removalDeadline == nil && delivery.isActive(1))
        _ = delivery.handle(Acknowledgement(epoch: epoch, through: 1), of: 1, at: boot)
        #expect(delivery.removable == [1: [epoch: [1...1]]] && delivery.isEmpty)
        #expect(delivery.removalDeadline == boot + 2_000_000)
        boot += 5_000_000
        delivery.didFailToRemove(at: boot)
        #expect(delivery.removable.count == 1 && delivery.removalDeadline == boot + 2_000_000)
        delivery.didRemove()
        #expect(delivery.removable.isEmpty && delivery.removalDeadline == nil)
    }

    @Test("a lost connection moves the batches of all devices to the backlog")
    mutating func disconnect() {
        add(2)
        connect()
        live(1, of: 0)
        live(1, of: 1)
        #expect(delivery.inFlightCount == 2 && delivery.unsentCount == 0)
        delivery.didDisconnect()
        #expect(delivery.inFlightCount == 0 && delivery.unsentCount == 2 && !delivery.canSendBacklog)
    }

    @Test("a refusal of a collector is the problem of its device only, and is reported with it")
    mutating func refusals() {
        add(2)
        connect()
        live(1, of: 1)
        acknowledgeMessages()
        let refusal = Acknowledgement.Refusal(seq: 1, reason: "the clock is wrong")
        for device in 0...1 {
            _ = delivery.handle(Acknowledgement(epoch: epoch, through: 0, refusal: refusal), of: device, at: boot)
        }
        #expect(delivery.tick(at: boot).isEmpty && delivery.problem(of: 1, at: boot) == nil)
        boot += CollectorRefusals.delay
        #expect(delivery.tick(at: boot).map(\.device) == [1])
        #expect(delivery.problem(of: 0, at: boot) == nil)
        #expect(delivery.problem(of: 1, at: boot)?.hasSuffix("the clock is wrong") == true)
        _ = delivery.handle(Acknowledgement(epoch: epoch, through: 1), of: 1, at: boot)
        #expect(delivery.tick(at: boot).isEmpty && delivery.problem(of: 1, at: boot) == nil)
    }

    @Test("the silence of a collector is reported once, with the device that waits longest")
    mutating func silence() {
        add(2)
        connect()
        live(1, of: 1)
        acknowledgeMessages()
        boot += 10_000_000
        live(1, of: 0)
        acknowledgeMessages()
        boot += 19_000_000
        #expect(delivery.tick(at: boot).isEmpty)
        boot += 1_000_000
        #expect(delivery.tick(at: boot).map(\.device) == [1] && delivery.tick(at: boot).isEmpty)
    }

    @Test("an outbox that cannot be read ends the backlog of the turn, and is a problem until it can be read")
    mutating func unreadable() {
        add(2, pending: [1...2])
        connect()
        #expect(backlog(.failed(outboxError)).count == 1 && delivery.unreadable == "\(outboxError)")
        #expect(delivery.unsentCount == 4)
        #expect(backlog(.missing).count == 4 && delivery.unreadable == nil && delivery.isEmpty)
    }

    // MARK: - Few messages in flight

    /// Connects to a broker that allows 20 messages in flight, over a link with a round trip of 2 s.
    private mutating func connectFar(pending: SequenceSet, waitsForCollector: Bool = true) {
        delivery = OutboxDelivery(waitsForCollector: waitsForCollector, backlogRate: 10_000)
        add(1, pending: pending)
        delivery.didConnect(maxInFlight: 20, at: boot)
        delivery.didSubscribe(0, at: boot)
        _ = publish(1000, isBacklog: false)
        boot += 2_000_000
        acknowledgeMessages()
        _ = delivery.handle(Acknowledgement(epoch: epoch, received: [1000...1000]), of: 0, at: boot)
    }

    /// Publishes a batch with the quality of service that it needs, and returns that.
    private mutating func publish(_ seq: Int64, isBacklog: Bool) -> QualityOfService {
        let position = BatchPosition(epoch: epoch, seq: seq)
        lastID += 1
        let qos = delivery.quality(of: position, isBacklog: isBacklog, at: boot)
        _ = delivery.didPublish(position, isBacklog: isBacklog, .published(id: lastID, bytes: 100, qos: qos), at: boot)
        return qos
    }

    /// Publishes backlog as long as it may be published, and returns the qualities of service.
    private mutating func qualities() -> [Int32] {
        var qualities: [Int32] = []
        delivery.beginBacklog()
        while let (_, position) = delivery.nextBacklogBatch(at: boot) {
            qualities.append(publish(position.seq, isBacklog: true).rawValue)
        }
        return qualities
    }

    @Test("over a long link, only some batches need one of the few PUBACKs, which confirm those before them, too")
    mutating func fewInFlight() {
        connectFar(pending: [1...9])
        #expect(qualities() == [1, 0, 0, 0])
        // libmosquitto reports that messages with QoS 0 are sent.
        for id in lastID - 2...lastID { delivery.didReceivePuback(id, at: boot) }
        #expect(delivery.inFlightCount == 4)
        delivery.didReceivePuback(lastID - 3, at: boot)
        #expect(delivery.inFlightCount == 3)
        #expect(publish(1001, isBacklog: false) == .atLeastOnce)
        delivery.didReceivePuback(lastID, at: boot)
        #expect(delivery.inFlightCount == 0)
    }

    @Test(
        "live batches have QoS 1 as long as the broker allows, and their number stays limited if the link is too slow for them"
    )
    mutating func manyLive() {
        connectFar(pending: [])
        let qualities = (1...20).map { publish(1000 + $0, isBacklog: false) }
        #expect(qualities == Array(repeating: .atLeastOnce, count: 15) + Array(repeating: .atMostOnce, count: 5))
        var seq: Int64 = 1020
        while delivery.canPublishLive(of: 0), seq < 3000 {
            seq += 1
            _ = publish(seq, isBacklog: false)
            boot += 100_000
            let stored = 1000 + (seq - 1000) / 10
            _ = delivery.handle(Acknowledgement(epoch: epoch, received: [1000...stored]), of: 0, at: boot)
            _ = delivery.tick(at: boot)
        }
        #expect(!delivery.canPublishLive(of: 0))
    }

    @Test(
        "a batch with QoS 0 after which no message follows is sent again, and with QoS 1 if no collector acknowledges any"
    )
    mutating func lostWithoutPuback() {
        connectFar(pending: [1...4])
        #expect(qualities() == [1, 0, 0, 0])
        boot += 2_000_000
        delivery.didReceivePuback(lastID - 3, at: boot)
        boot += OutboxDelivery.confirmationDelay
        _ = delivery.tick(at: boot)
        #expect(delivery.inFlightCount == 0)
        boot += DeviceDelivery.initialRetryDelay
        _ = delivery.tick(at: boot)
        _ = publish(1001, isBacklog: false)
        #expect(delivery.unsentCount > 0 && Set(qualities()) == [1])
    }

    @Test("a batch with QoS 0 that was lost twice is sent with QoS 1")
    mutating func lostTwice() {
        connectFar(pending: [1...4])
        for live in 1001...1002 as ClosedRange<Int64> {
            #expect(qualities() == [1, 0, 0, 0])
            for seq in [live, live + 10] {
                _ = publish(seq, isBacklog: false)
                boot += 2_000_000
                acknowledgeMessages()
            }
            let ack = Acknowledgement(epoch: epoch, received: [1000...live, 1011...live + 10], holdTime: 0)
            _ = delivery.handle(ack, of: 0, at: boot)
            #expect(delivery.unsentCount == 4)
        }
        #expect(qualities() == [1, 1, 1, 1])
    }

    @Test("a message with QoS 0 that overtakes one with QoS 1 at the broker does not make that one lost")
    mutating func overtaken() {
        connectFar(pending: [1...4])
        _ = qualities()
        delivery.didReceivePuback(lastID - 3, at: boot)
        lastID += 1
        let overtaking = OutboxDelivery.Outcome.published(id: lastID, bytes: 300, qos: .atMostOnce)
        _ = delivery.didPublish(BatchPosition(epoch: epoch, seq: 1001), isBacklog: false, overtaking, at: boot)
        _ = delivery.handle(Acknowledgement(epoch: epoch, received: [1000...1001]), of: 0, at: boot)
        #expect(delivery.unsentCount == 0)
    }

    @Test("a refused message is retried with QoS 1, and those with QoS 0 before it were read")
    mutating func refusedWithoutPuback() {
        connectFar(pending: [1...4])
        _ = qualities()
        _ = publish(1001, isBacklog: false)
        #expect(delivery.didRefuse(lastID, MQTTError(.notAuthorized, "no"), at: boot).count == 1)
        #expect(delivery.inFlightCount == 1 && delivery.unsentCount == 0)
        boot += DeviceDelivery.initialRetryDelay
        _ = delivery.tick(at: boot)
        let refused = BatchPosition(epoch: epoch, seq: 1001)
        #expect(delivery.quality(of: refused, isBacklog: true, at: boot) == .atLeastOnce)
    }

    @Test("without a collector, each batch has QoS 1")
    mutating func withoutCollector() {
        connectFar(pending: [1...4], waitsForCollector: false)
        #expect(qualities() == [1, 1, 1, 1])
    }
}
