import LockstepAgent
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Delivery with a broker and a collector that lose messages")
struct LossyDeliveryTests {
    @Test("every batch is delivered eventually", arguments: [100, 3])
    func everythingArrives(_ gapLimit: Int) {
        for _ in 0..<10 {
            let (random, seed) = seeded("lossy delivery")
            var world = World(random: random, gapLimit: gapLimit)
            for _ in 0..<1500 { world.step(isCalm: false) }
            var left = 20_000
            while !world.delivery.isEmpty, left > 0 {
                world.step(isCalm: true)
                left -= 1
            }
            #expect(world.delivery.isEmpty, "seed \(seed)")
            #expect(world.received == world.produced, "seed \(seed)")
        }
    }
}

/// A simulation of an agent, a broker and a collector, in steps of 200 ms.
private struct World {
    var random: SeededGenerator
    let gapLimit: Int
    var delivery = DeviceDelivery(pending: [:])
    /// The numbers of all batches that the agent has produced.
    var produced: [Epoch: SequenceSet] = [:]
    /// The numbers of the batches that the collector has stored.
    var received: [Epoch: SequenceSet] = [:]

    private var epoch = Epoch(unchecked: "e0")
    private var boot: Int64 = 0
    private var isUp = false
    private var nextID: Int32 = 1
    /// The messages that have not reached the broker yet.
    private var wire: [(id: Int32, position: BatchPosition)] = []
    private var broker: [BatchPosition] = []
    private var pendingAcknowledgements: Set<Epoch> = []

    init(random: SeededGenerator, gapLimit: Int) {
        self.random = random
        self.gapLimit = gapLimit
    }

    /// Advances the time by 200 ms.
    /// - Parameter isCalm: whether nothing is produced, lost or refused.
    mutating func step(isCalm: Bool) {
        boot += 200_000
        if isUp, !isCalm, chance(0.01) { disconnect() }
        if !isUp, chance(0.2) { connect() }
        if !isCalm { produce() }
        sendBacklog()
        moveToBroker(isCalm: isCalm)
        collect(isCalm: isCalm)
        delivery.tick(at: boot)
    }

    private mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < probability
    }

    private mutating func disconnect() {
        isUp = false
        // Some of the messages have arrived, without a PUBACK.
        for sent in wire where chance(0.5) { broker.append(sent.position) }
        wire = []
        delivery.didDisconnect()
        if chance(0.5) { broker = [] }
    }

    private mutating func connect() {
        isUp = true
        delivery.didConnect(at: boot)
        // The retained acknowledgement.
        pendingAcknowledgements.formUnion(received.keys)
    }

    private mutating func produce() {
        if chance(0.003) { epoch = Epoch(unchecked: "e\(produced.count)") }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let position = BatchPosition(epoch: epoch, seq: (produced[epoch]?.last ?? 0) + 1)
            produced[epoch, default: SequenceSet()].insert(position.seq)
            if isUp, delivery.inFlightCount < 20 { publish(position) } else { delivery.enqueue(position) }
        }
    }

    private mutating func sendBacklog() {
        guard isUp else { return }
        while delivery.inFlightCount < 10, let position = delivery.nextBacklog(limit: 1).first { publish(position) }
    }

    private mutating func publish(_ position: BatchPosition) {
        delivery.didPublish(position, as: nextID)
        wire.append((nextID, position))
        nextID += 1
    }

    private mutating func moveToBroker(isCalm: Bool) {
        for _ in 0..<Int.random(in: 0...8, using: &random) where !wire.isEmpty {
            let sent = wire.removeFirst()
            if !isCalm, chance(0.02) {
                delivery.didRefuse(sent.id, at: boot)
            } else {
                broker.append(sent.position)
                _ = delivery.didReceivePuback(sent.id)
            }
        }
    }

    private mutating func collect(isCalm: Bool) {
        for _ in 0..<Int.random(in: 0...8, using: &random) where !broker.isEmpty {
            let position = broker.removeFirst()
            if !isCalm, chance(0.03) { continue }
            received[position.epoch, default: SequenceSet()].insert(position.seq)
            pendingAcknowledgements.insert(position.epoch)
        }
        guard chance(0.3) else { return }
        for epoch in pendingAcknowledgements {
            if isUp, isCalm || chance(0.8) {
                delivery.handle(
                    Acknowledgement(epoch: epoch, received: received[epoch] ?? SequenceSet(), limit: gapLimit), at: boot
                )
            }
        }
        pendingAcknowledgements = []
    }
}
