import LockstepModel

// Births that are requested, and deaths that no message reports.
extension SparkplugNodes {
    /// Forgets the metrics of all nodes, and lets them all be born again, because messages may have been lost.
    ///
    /// Their devices are kept, so that those that have died meanwhile are reported as lost, and their values, which the
    /// births repeat.
    /// - Returns: what has waited.
    mutating func reset(at moment: Moment) -> [Output] {
        let outputs = release(at: moment, all: true)
        nodes = nodes.mapValues { $0.withoutBirths() }
        watched.formUnion(nodes.keys)
        metricCount = nodes.values.reduce(0) { $0 + $1.metricCount }
        return outputs
    }

    /// Forgets the values of all nodes, because they may not be stored. The next births give them again.
    mutating func removeValues() {
        for name in nodes.keys {
            guard var node = nodes[name] else { continue }
            node.own.removeValues()
            for device in node.devices.keys { node.devices[device]?.source.removeValues() }
            node.waiting = []
            save(node, name)
        }
    }

    /// Adds nodes and devices that were present before a restart, and lets them be born again.
    ///
    /// Those that do not answer are lost: they may have died during the restart. Names beyond the limits are left out.
    mutating func restore(_ names: [ForeignName], at boot: Int64) {
        for parts in names.map(\.parts) where parts.count == 2 || parts.count == 3 {
            guard let name = SparkplugNode(group: parts[0], node: parts[1]), var node = try? take(name) else {
                continue
            }
            if parts.count == 2 {
                node.isPresent = node.isPresent || !node.hasBirth
            } else if node.devices[parts[2]] == nil {
                let device = Device(source: SparkplugSource(targets: targets), hasBirth: false)
                if (try? reserve(device.size, replacing: 0)) != nil {
                    node.devices[parts[2]] = device
                    if node.hasBirth { node.deviceDeadline = node.deviceDeadline ?? boot + Self.deviceBirthLimit }
                }
            }
            save(node, name)
        }
    }

    /// Returns the nodes whose birth messages must be requested now, and gives up those that never answer.
    mutating func takeRebirths(at boot: Int64) -> [SparkplugNode] {
        var result: [SparkplugNode] = []
        for name in watched.sorted() {
            guard var node = nodes[name], node.needsBirth else { continue }
            if let last = node.requestedAt, boot - last < Self.rebirthInterval { continue }
            guard node.requests < Self.maxRequests else {
                if node.hasBirth {
                    // Its data can still be decoded. The next gap begins a new series of requests.
                    node.needsBirth = false
                    node.requests = 0
                    save(node, name)
                } else {
                    forget(name)
                    abandoned += lost(node, name, reason: "no-answer")
                }
                continue
            }
            node.requestedAt = boot
            node.requests += 1
            nodes[name] = node
            result.append(name)
        }
        return result
    }

    /// Returns the reports of devices that were not born again after their node, and of nodes that were given up.
    mutating func takeLostDevices(at boot: Int64) -> [ForeignReport] {
        var reports = abandoned
        abandoned = []
        for name in watched.sorted() {
            guard var node = nodes[name], let deadline = node.deviceDeadline, boot >= deadline else { continue }
            node.deviceDeadline = nil
            for (device, state) in node.devices.sorted(by: { $0.key < $1.key }) where !state.hasBirth {
                metricCount -= state.size
                node.devices[device] = nil
                node.waiting.remove(device)
                reports.append(lost(ForeignName(Self.formatName, [name.group, name.node, device]), reason: "nbirth"))
            }
            noteColumns(of: node, name)
            save(node, name)
        }
        return reports
    }
}

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
