import LockstepMQTT

/// One connection and the devices that share it.
final class FleetConnection {
    let link: BrokerLink
    /// The indexes of its devices.
    let devices: [Int]
    /// The device of each batch that the broker has not confirmed, by message id.
    var flying: [Int32: Int] = [:]
    /// How many of its devices' acknowledgements are subscribed to.
    var granted = 0
    /// When backlog may go, in µs of the boot clock: an acknowledgement that waits may make most of it unnecessary.
    var backlogFrom = Int64.max

    init(link: BrokerLink, devices: [Int]) {
        self.link = link
        self.devices = devices
    }

    var isReady: Bool { link.isUp && granted >= devices.count }
}
