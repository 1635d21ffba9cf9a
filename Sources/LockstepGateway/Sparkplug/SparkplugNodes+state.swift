// What is known of one node and its devices.
extension SparkplugNodes {
    /// What a message has shown about the numbers of a node.
    enum Finding: Hashable {
        /// Messages before this one have not arrived.
        case missing(Int)
        /// The message belongs to a birth message that has not arrived.
        case unknown
    }

    /// A node since its last birth message.
    struct Node {
        /// The number that its death must have; nil before its first birth message.
        var deathNumber: Int64?
        /// Whether its birth message was received.
        var hasBirth = false
        /// The messages that wait for those before them.
        var order = SparkplugOrder<Message>()
        /// Its own metrics.
        var own: SparkplugSource
        /// Whether a birth message has made it a device of its own.
        var isPresent = false
        var devices: [String: Device] = [:]
        /// Whether new birth messages must be requested.
        var needsBirth = false
        /// The time of the last request, in µs of the boot clock.
        var requestedAt: Int64?
        /// The number of requests since the last birth message.
        var requests = 0
        /// The time at which devices that are not born again count as lost, in µs of the boot clock.
        var deviceDeadline: Int64?

        /// The devices with samples that wait for other values of their time.
        var waiting: Set<String> = []
        /// Whether samples of the node or its devices wait.
        var isWaiting: Bool { own.isWaiting || !waiting.isEmpty }
        var metricCount: Int { own.count + devices.values.reduce(0) { $0 + $1.size } }

        mutating func set(_ device: Device, _ name: String) {
            devices[name] = device
            if device.source.isWaiting { waiting.insert(name) } else { waiting.remove(name) }
        }

        /// Returns the node before new birth messages: what it has shown as present must be born again or is lost.
        func withoutBirths() -> Node {
            var result = Node(own: own.withoutMembers(), needsBirth: true)
            result.deathNumber = deathNumber
            result.isPresent = isPresent
            result.devices = devices.mapValues { Device(source: $0.source.withoutMembers(), hasBirth: false) }
            return result
        }
    }

    /// A device since its last birth message.
    struct Device {
        var source: SparkplugSource
        /// Whether its birth message was received after that of its node.
        var hasBirth: Bool

        /// Its part of the limit of metrics. A device without metrics also takes memory.
        var size: Int { source.count + 1 }
    }
}
