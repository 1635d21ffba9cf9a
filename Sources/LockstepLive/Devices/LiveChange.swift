public import LockstepModel
public import LockstepWire

/// The effect of a message on ``LiveDevices``.
public enum LiveChange: Sendable {
    /// A device changed its life-cycle state.
    case state(DeviceAddress, LifecycleTransition)
    /// An agent reported its status. `isNews` is false for a heartbeat without a change.
    case presence(DeviceAddress, Presence, isNews: Bool)
    /// The state and the presence of a device were deleted, so it is no longer shown until it sends again.
    case forgotten(DeviceAddress)
    /// The health report of a collector was deleted.
    case collectorForgotten(GroupID, CollectorID)
    /// Samples arrived.
    case samples(LiveBatch)
    /// A collector reported its health. `isNews` is false if status and problem are unchanged.
    case collector(GroupID, CollectorID, CollectorHealth, isNews: Bool)
    /// An agent replied to a request. The payload is that of the message.
    case reply(DeviceAddress)
    /// A rule has notified an event.
    case event(StoredEvent)
    /// A collector has stored the acknowledgement of an event.
    case acknowledged(StoredAcknowledgement)
    /// The message cannot be decoded, or exceeds a limit.
    case unreadable(topic: String, reason: String)
}

/// A batch that has arrived.
public struct LiveBatch: Sendable {
    /// The device.
    public let address: DeviceAddress
    /// The batch.
    public let batch: Batch
    /// The position of the stream in ``LiveDevices``.
    let key: StreamKey
}

/// The position of a stream of a device in ``LiveDevices``.
struct StreamKey: Hashable, Sendable {
    let device: Int
    let stream: Int
}
