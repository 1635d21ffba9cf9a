import LockstepModel

/// Whether a device is connected, from its state and its presence.
struct DeviceConnectivity {
    private(set) var transition: LifecycleTransition?
    private(set) var presence: Presence?

    /// Whether the broker has neither a state nor a presence of the device any more.
    var isDeleted: Bool { transition == nil && presence == nil }

    /// Whether the device is connected, as far as is known.
    var isConnected: Bool {
        if let presence { return presence.phase != .lost && presence.phase != .terminated }
        return transition.map { $0.to != .terminated && $0.reason != "connection-lost" } ?? true
    }

    /// Records a state, or its deletion.
    mutating func note(_ transition: LifecycleTransition?) { self.transition = transition }

    /// Records a presence, or its deletion. The last will of an earlier session, which the broker may publish late, is
    /// ignored.
    mutating func note(_ presence: Presence?) {
        if let last = self.presence?.session, let session = presence?.session, session < last { return }
        self.presence = presence
    }
}
