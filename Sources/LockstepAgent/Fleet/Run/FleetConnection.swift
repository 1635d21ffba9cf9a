import LockstepMQTT

/// One connection, and the devices that share it.
final class FleetConnection {
    let link: BrokerLink
    /// The indexes of its devices.
    let devices: [Int]
    /// The device of each batch without a PUBACK, by message id.
    var inFlight: [Int32: Int] = [:]
    /// The limit of the backlog on its way to the broker.
    var window = LinkWindow()
    /// The number of granted subscriptions to acknowledgements.
    var granted = 0
    /// The time from which backlog may be published, in µs of the boot clock. Retained acknowledgements arrive
    /// before that, and batches that they cover need not be published.
    var backlogFrom = Int64.max

    init(link: BrokerLink, devices: [Int]) {
        self.link = link
        self.devices = devices
    }

    /// Whether the link is up and all subscriptions are granted.
    var isReady: Bool { link.isUp && granted >= devices.count }
}
