import LockstepAgent
import LockstepModel
import LockstepWire

/// The delivery of the batches of one device, and its presence.
struct DeviceDelivery {
    let address: DeviceAddress
    let ackTopic: String
    var delivery: Delivery
    var budget: ByteBudget
    /// Acknowledged batches that are still in the outbox.
    var removable: [Epoch: SequenceSet] = [:]
    /// Whether the acknowledgements of the device are subscribed to on this connection.
    var isSubscribed = false
    /// The time of the last message of its sender, by ``ListeningTime``. It may be before the start.
    var heardAt: Int64
    /// Whether its sender has told its phase since the start.
    var isHeard = false
    /// The time at which a refusal of its batches was logged, in µs of the boot clock.
    var refusalLoggedAt: Int64?
    /// The batches that the last acknowledgement with such batches lists as missing and that are not in the outbox any more.
    var reportedGone: [Epoch: SequenceSet] = [:]
    /// Whether the presence must be published.
    var needsPresence = false

    init(_ device: OutboxDevice, root: TopicRoot, backlogRate: Int, heardAt: Int64, at boot: Int64) {
        address = device.address
        ackTopic = root.topic(device.address, .ack)
        delivery = Delivery(pending: device.pending)
        budget = ByteBudget(rate: backlogRate, at: boot)
        self.heardAt = heardAt
    }

    /// Whether the device has batches to deliver.
    var isActive: Bool { !delivery.isEmpty }

    /// Handles an acknowledgement of a collector.
    mutating func handle(_ ack: Acknowledgement, at boot: Int64) {
        delivery.handle(ack, at: boot)
        let gone = delivery.gone(of: ack)
        guard !gone.isEmpty, reportedGone != [ack.epoch: gone] else { return }
        // The collector learns from the presence that it need not wait for them.
        reportedGone = [ack.epoch: gone]
        needsPresence = true
    }

    /// Returns the presence messages to publish: of the current epoch, and of earlier ones with dropped batches.
    func presenceMessages(of device: OutboxDevice, session: Int64, at now: Timestamp) -> [Presence] {
        // A device whose sender never told its phase may have dropped batches.
        let phase = device.presence?.phase ?? .background
        let reason = device.presence?.reason ?? "gateway-start"
        var dropped = device.dropped
        let epoch = device.epoch ?? device.previousEpoch
        let current = epoch.flatMap { dropped.removeValue(forKey: $0) } ?? SequenceSet()
        let main = Presence(
            epoch: epoch, after: device.epoch == nil ? nil : device.previousEpoch, session: session,
            phase: phase, at: device.presence?.at ?? now, reason: reason, seq: device.lastSeq,
            pending: device.pending, dropped: current.ranges,
            droppedSamples: device.droppedSamples, sources: [device.sender: "running"])
        let earlier = dropped.sorted { $0.key < $1.key }.map { epoch, batches in
            var presence = main
            presence.epoch = epoch
            presence.after = nil
            presence.seq = nil
            presence.pending = main.pending.filter { $0.key == epoch }
            presence.dropped = batches.ranges
            return presence
        }
        return [main] + earlier
    }
}
