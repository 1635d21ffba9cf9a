import LockstepAgent
import LockstepModel
import LockstepWire

/// What the gateway's loop knows of a device besides its batches.
struct GatewayDevice {
    let ackTopic: String
    /// The time of the last message of its sender, by ``ListeningTime``. It may be before the start.
    var heardAt: Int64
    /// Whether its sender has told its phase since the start.
    var isHeard = false
    /// Whether the presence must be published.
    var needsPresence = false
    /// What a person has to solve, as the last presence says.
    var problem: String?

    /// Returns the presence messages to publish: of the current epoch, and of earlier ones with dropped batches.
    func presenceMessages(
        of device: OutboxDevice, from sender: OutboxSender, session: Int64, at now: Timestamp
    ) -> [Presence] {
        var dropped = device.dropped
        let epoch = device.epoch ?? device.previousEpoch
        let current = epoch.flatMap { dropped.removeValue(forKey: $0) } ?? SequenceSet()
        // A device whose sender never told its phase may have dropped batches.
        let main = Presence(
            epoch: epoch, after: device.epoch == nil ? nil : device.previousEpoch, session: session,
            phase: sender.presence?.phase ?? .background, at: sender.presence?.at ?? now,
            reason: sender.presence?.reason ?? "gateway-start", seq: device.lastSeq, pending: device.pending,
            dropped: current.ranges, droppedSamples: device.droppedSamples, sources: [sender.name: "running"],
            problem: problem)
        return [main] + main.reports(ofDropped: dropped)
    }
}
