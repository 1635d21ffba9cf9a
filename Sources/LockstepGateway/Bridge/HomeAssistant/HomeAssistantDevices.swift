import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepWire

/// The devices that Home Assistant shows. It receives messages and returns those to publish, without I/O.
struct HomeAssistantDevices: Sendable {
    /// A device, and what was published of it on this connection.
    private struct Entry {
        var device: HomeAssistantDevice
        let discovery: HomeAssistantDiscovery
        var isAnnounced = false
        var published: [String: [UInt8]] = [:]
        /// The earliest time of the next publication in µs of the boot clock, if anything has changed; else nil.
        var dueAt: Int64?
        var publishedAt: Int64?
    }

    private let streams: [SensorStream]
    let configuration: HomeAssistantConfiguration
    private var entries: [DeviceAddress: Entry] = [:]
    /// The devices with a change, and those that move.
    private var changed: Set<DeviceAddress> = []
    private var moving: Set<DeviceAddress> = []
    /// The devices of an earlier run.
    private var earlier: Set<DeviceAddress> = []
    /// The devices of which a message has arrived since the connection.
    private var confirmed: Set<DeviceAddress> = []
    /// The time of the removal of devices that were deleted meanwhile, in µs of the boot clock.
    private var removalAt: Int64?
    private var removals: [MQTTMessage] = []
    /// The first simulated device, and whether it was reported as left out.
    private var firstSimulated: DeviceAddress?
    private var hasReportedSimulated = false

    init(_ configuration: HomeAssistantConfiguration) {
        self.configuration = configuration
        streams = [.location, .battery, .steps, .floors] + configuration.measuredStreams
    }

    var count: Int { entries.count }

    /// The topic filters to subscribe to.
    var filters: [String] {
        let channels: [Channel] = [.state, .presence] + streams.map { .stream($0) }
        return channels.map { configuration.root.filter(group: nil, channel: $0) } + [
            configuration.statusTopic, configuration.discoveryFilter,
        ]
    }

    /// Lets everything be published again, on a new connection or when Home Assistant has started.
    mutating func publishAll(at boot: Int64) {
        for address in entries.keys {
            entries[address]?.isAnnounced = false
            entries[address]?.published = [:]
            change(address, at: boot, isUrgent: true)
        }
    }

    mutating func didConnect(at boot: Int64) {
        earlier = []
        confirmed = []
        removalAt = boot + configuration.removalDelay
        publishAll(at: boot)
    }

    /// - Throws: the reason why it cannot be read.
    mutating func handle(
        topic: String, payload: UnsafeRawBufferPointer, contentType: String?, at moment: Moment
    ) throws {
        let boot = moment.boot
        if topic == configuration.statusTopic {
            if payload.elementsEqual("online".utf8) { publishAll(at: boot) }
            return
        }
        if topic.hasPrefix(configuration.prefix + "/device/") { return noteDiscovery(topic, payload) }
        guard case .device(let address, let channel) = try configuration.root.parse(topic) else { return }
        switch channel {
        case .state:
            let transition = payload.isEmpty ? nil : try StateJSON.decode(Data(payload))
            update(address, at: boot, isUrgent: true, isDeletion: payload.isEmpty) { $0.note(transition) }
        case .presence:
            let presence = payload.isEmpty ? nil : try PresenceJSON.decode(Data(payload))
            update(address, at: boot, isUrgent: true, isDeletion: payload.isEmpty) { $0.note(presence) }
        case .stream(let stream) where streams.contains(stream):
            guard !payload.isEmpty else { return }
            let batch = try BatchEncoding.decode(
                payload, contentType: contentType, stream: stream, limits: PayloadLimits())
            update(address, at: boot, isUrgent: false, isDeletion: false) {
                $0.note(batch.samples, at: moment.wall)
            }
        default: break
        }
    }

    /// Records a discovery message of an earlier run of a bridge with the same topics.
    private mutating func noteDiscovery(_ topic: String, _ payload: UnsafeRawBufferPointer) {
        let id = topic.dropFirst("\(configuration.prefix)/device/".count)
        guard removalAt != nil, let end = id.firstIndex(of: "/"),
            let address = HomeAssistantDiscovery.address(ofID: id[..<end])
        else { return }
        let isOurs = String(decoding: payload, as: UTF8.self).contains("\"\(configuration.bridgeTopic)\"")
        if isOurs { earlier.insert(address) }
    }

    private mutating func update(
        _ address: DeviceAddress, at boot: Int64, isUrgent: Bool, isDeletion: Bool,
        _ body: (inout HomeAssistantDevice) -> Void
    ) {
        if entries[address] == nil {
            guard !isDeletion, entries.count < configuration.maxDevices else { return }
            entries[address] = Entry(
                device: HomeAssistantDevice(address),
                discovery: HomeAssistantDiscovery(configuration: configuration, address: address))
        }
        if !isDeletion, removalAt != nil { confirmed.insert(address) }
        entries[address].mutate { body(&$0.device) }
        if isDeletion, let entry = entries[address], entry.device.isDeleted {
            remove(entry)
        } else {
            change(address, at: boot, isUrgent: isUrgent)
        }
    }

    private mutating func remove(_ entry: Entry) {
        let address = entry.device.address
        entries[address] = nil
        changed.remove(address)
        moving.remove(address)
        removals += Self.deletions(of: entry.discovery)
    }

    private static func deletions(of discovery: HomeAssistantDiscovery) -> [MQTTMessage] {
        discovery.topics.map { MQTTMessage(topic: $0, payload: [], isRetained: true) }
    }

    /// Removes the devices that were deleted while the bridge was not connected. The broker has sent the retained messages of
    /// all others.
    private mutating func removeDeleted() {
        for (address, entry) in entries where !confirmed.contains(address) && !entry.device.isDeleted { remove(entry) }
        for address in earlier.sorted() where entries[address]?.device.isSimulated ?? true {
            removals += Self.deletions(of: HomeAssistantDiscovery(configuration: configuration, address: address))
        }
        earlier = []
        confirmed = []
    }

    /// Returns the first simulated device that was left out, once.
    mutating func takeLeftOut() -> (device: DeviceAddress, reason: String)? {
        guard let firstSimulated, !hasReportedSimulated else { return nil }
        hasReportedSimulated = true
        return (firstSimulated, "all sensors are simulated")
    }

    private mutating func change(_ address: DeviceAddress, at boot: Int64, isUrgent: Bool) {
        entries[address].mutate { entry in
            let due = isUrgent ? boot : max(boot, (entry.publishedAt ?? .min / 2) + configuration.interval)
            entry.dueAt = min(entry.dueAt ?? due, due)
        }
        changed.insert(address)
    }

    /// Returns the messages to publish now. The caller must publish them all, or call ``didConnect(at:)``.
    mutating func takeMessages(at moment: Moment) -> [MQTTMessage] {
        if let removalAt, moment.boot >= removalAt {
            self.removalAt = nil
            removeDeleted()
        }
        var messages = removals
        removals = []
        for address in moving where entries[address]?.device.isMoving(at: moment.wall) != true {
            change(address, at: moment.boot, isUrgent: true)
        }
        let due = changed.filter { (entries[$0]?.dueAt ?? .max) <= moment.boot }
        changed.subtract(due)
        for address in due.sorted() { messages += takeMessages(of: address, at: moment) }
        return messages
    }

    private mutating func takeMessages(of address: DeviceAddress, at moment: Moment) -> [MQTTMessage] {
        guard var entry = entries[address] else { return [] }
        guard !entry.device.isSimulated else {
            firstSimulated = firstSimulated ?? address
            // Its state may have arrived before its presence, which names its sources.
            defer {
                entries[address]?.isAnnounced = false
                entries[address]?.published = [:]
                entries[address]?.dueAt = nil
                moving.remove(address)
            }
            return entry.isAnnounced ? Self.deletions(of: entry.discovery) : []
        }
        var messages: [MQTTMessage] = []
        let discovery = entry.discovery
        func publish(_ topic: String, _ payload: [UInt8]?) {
            guard let payload, entry.published[topic] != payload else { return }
            entry.published[topic] = payload
            messages.append(MQTTMessage(topic: topic, payload: payload, isRetained: true))
        }
        if !entry.isAnnounced {
            entry.isAnnounced = true
            messages.append(MQTTMessage(topic: discovery.topic, payload: discovery.payload, isRetained: true))
        }
        publish(discovery.availabilityTopic, Array((entry.device.isConnected ? "online" : "offline").utf8))
        publish(
            discovery.stateTopic,
            HomeAssistantState.values(of: entry.device, measuring: configuration.measuredStreams, at: moment.wall))
        publish(discovery.locationTopic, HomeAssistantState.location(of: entry.device))
        entry.dueAt = nil
        entry.publishedAt = moment.boot
        if entry.device.isMoving(at: moment.wall) == true { moving.insert(address) } else { moving.remove(address) }
        entries[address] = entry
        return messages
    }
}

extension Optional {
    fileprivate mutating func mutate(_ body: (inout Wrapped) -> Void) {
        guard var value = self else { return }
        self = nil
        body(&value)
        self = value
    }
}
