import LockstepModel
import LockstepWire

/// The JSON of a device's state for subscribers.
enum StateChangeJSON {
    /// Encodes a transition.
    /// - Parameter isSnapshot: whether this is the present state of the device instead of a change.
    static func encode(_ transition: LifecycleTransition, of address: DeviceAddress, isSnapshot: Bool) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("group", address.group.rawValue)
        object.member("device", address.device.rawValue)
        object.member("state", transition.to.rawValue)
        object.member("previous", orNull: transition.from?.rawValue)
        object.member("reason", transition.reason)
        object.member("since", transition.since.microseconds)
        object.member("seq", transition.seq)
        object.member("snapshot", isSnapshot)
        return object.finish()
    }
}
