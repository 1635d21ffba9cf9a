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
    /// The last presence of its sender in this run, or nil before the first one.
    private(set) var presence: ForeignPresence?
    /// The time of the presence.
    private(set) var presenceTime: Timestamp?
    /// Whether the presence must be published.
    var needsPresence = false

    init(_ device: OutboxDevice, root: TopicRoot, backlogRate: Int, at boot: Int64) {
        address = device.address
        ackTopic = root.topic(device.address, .ack)
        delivery = Delivery(pending: device.pending)
        budget = ByteBudget(rate: backlogRate, at: boot)
    }

    /// Whether the device has batches to deliver.
    var isActive: Bool { !delivery.isEmpty }

    /// Records what a message shows about the life cycle. Only a change of the phase is published.
    mutating func note(_ presence: ForeignPresence, at time: Timestamp) {
        guard presence.phase != self.presence?.phase else { return }
        self.presence = presence
        presenceTime = presence.at ?? time
        needsPresence = true
    }

    /// Returns the presence messages to publish: of the current epoch, and of earlier ones with dropped batches.
    func presenceMessages(of device: OutboxDevice, session: Int64, at now: Timestamp) -> [Presence] {
        // A device that was not heard in this run may have dropped batches of an earlier one.
        let known = presence ?? ForeignPresence(.background, reason: "gateway-start")
        var dropped = device.dropped
        let epoch = device.epoch ?? device.previousEpoch
        let current = epoch.flatMap { dropped.removeValue(forKey: $0) } ?? SequenceSet()
        let main = Presence(
            epoch: epoch, after: device.epoch == nil ? nil : device.previousEpoch, session: session,
            phase: known.phase, at: presenceTime ?? now, reason: known.reason, dropped: current.ranges,
            droppedSamples: device.droppedSamples, sources: [device.sender: "running"])
        let earlier = dropped.sorted { $0.key < $1.key }.map { epoch, batches in
            var presence = main
            presence.epoch = epoch
            presence.after = nil
            presence.dropped = batches.ranges
            return presence
        }
        return [main] + earlier
    }
}
