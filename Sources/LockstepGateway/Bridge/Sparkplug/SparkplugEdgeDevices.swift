import FoundationEssentials
import LockstepModel
import LockstepWire

/// The edge node and its devices. It receives Lockstep's messages and returns those of Sparkplug, without I/O.
struct SparkplugEdgeDevices: Sendable {
    struct Message {
        let topic: SparkplugTopic
        let payload: [UInt8]
    }

    let configuration: SparkplugEdgeConfiguration
    private var devices: [DeviceAddress: SparkplugEdgeDevice] = [:]
    private var nextAlias: UInt64 = 1
    private var nextNumber: UInt8 = 0
    /// The number that the births of this connection share with its death.
    private(set) var deathNumber: Int64
    /// Whether the birth message of the node is published on this connection.
    private var isBorn = false
    /// Whether a host application has asked for the birth messages.
    private var isBirthRequested = false
    private var messages: [Message] = []

    /// - Parameter deathNumber: the number before that of the first connection.
    init(_ configuration: SparkplugEdgeConfiguration, deathNumber: Int64) {
        self.configuration = configuration
        self.deathNumber = deathNumber & 0xff
    }

    var count: Int { devices.count }

    /// The topic filters to subscribe to.
    var filters: [String] {
        let channels: [Channel] = [.state, .presence] + configuration.root.streams.streams.map { .stream($0) }
        return [commandTopic] + channels.map { configuration.root.filter(group: nil, channel: $0) }
    }

    private var commandTopic: String { SparkplugTopic(.nodeCommand, configuration.node).description }

    /// Begins an attempt to connect.
    /// - Returns: the last will.
    mutating func startSession() -> Message {
        deathNumber = (deathNumber + 1) & 0xff
        isBorn = false
        messages = []
        return death
    }

    var death: Message {
        Message(
            topic: SparkplugTopic(.nodeDeath, configuration.node),
            payload: SparkplugPayload(metrics: [.deathNumber(deathNumber)]).encoded())
    }

    /// Publishes all birth messages: on a new connection, or when a host application asks for them.
    mutating func bear(at now: Timestamp) {
        nextNumber = 0
        isBorn = true
        isBirthRequested = false
        let time = now.microseconds / 1000
        var metrics: [SparkplugMetric] = [.deathNumber(deathNumber, time: time), .rebirth(false, time: time)]
        if let version = configuration.version {
            metrics.append(
                SparkplugMetric(name: "Properties/Version", time: time, kind: .string, value: .text(version)))
        }
        append(.nodeBirth, nil, metrics, time)
        for address in devices.keys.sorted() {
            devices[address]?.isBorn = false
            bearOrLose(address, at: time)
        }
    }

    /// - Throws: the reason why it cannot be read.
    mutating func handle(
        topic: String, payload: UnsafeRawBufferPointer, contentType: String?, at now: Timestamp
    ) throws {
        guard isBorn else { return }
        if topic == commandTopic {
            if try SparkplugPayload(decoding: Array(payload)).requestsRebirth { isBirthRequested = true }
            return
        }
        guard case .device(let address, let channel) = try configuration.root.parse(topic) else { return }
        let time = now.microseconds / 1000
        switch channel {
        case .state:
            let transition = payload.isEmpty ? nil : try StateJSON.decode(Data(payload))
            update(address, isDeletion: payload.isEmpty, at: time) { $0.note(transition) }
        case .presence:
            let presence = payload.isEmpty ? nil : try PresenceJSON.decode(Data(payload))
            update(address, isDeletion: payload.isEmpty, at: time) { $0.note(presence) }
        case .stream(let stream):
            guard !payload.isEmpty else { return }
            let batch = try BatchEncoding.decode(
                payload, contentType: contentType, stream: stream, limits: PayloadLimits())
            handle(batch, of: address, at: time)
        default: break
        }
    }

    private mutating func update(
        _ address: DeviceAddress, isDeletion: Bool, at time: Int64, _ body: (inout DeviceConnectivity) -> Void
    ) {
        guard var device = take(address, isNew: !isDeletion) else { return }
        body(&device.connectivity)
        if isDeletion, device.connectivity.isDeleted {
            if device.isBorn { append(.deviceDeath, device.id, [], time) }
            return
        }
        devices[address] = device
        bearOrLose(address, at: time)
    }

    private mutating func handle(_ batch: Batch, of address: DeviceAddress, at time: Int64) {
        guard var device = take(address, isNew: true) else { return }
        device.note(batch.samples, isLive: batch.isLive, nextAlias: &nextAlias)
        devices[address] = device
        bearOrLose(address, at: time)
        guard devices[address]?.isBorn == true else { return }
        for metrics in device.data(batch.samples, isLive: batch.isLive) {
            append(.deviceData, device.id, metrics, time)
        }
    }

    /// Removes and returns a device, so that it can be changed without a copy.
    private mutating func take(_ address: DeviceAddress, isNew: Bool) -> SparkplugEdgeDevice? {
        if let device = devices.removeValue(forKey: address) { return device }
        guard isNew, devices.count < configuration.maxDevices else { return nil }
        return SparkplugEdgeDevice(address)
    }

    /// Publishes the birth or death message that the state of a device asks for.
    private mutating func bearOrLose(_ address: DeviceAddress, at time: Int64) {
        guard let device = devices[address], device.isAlive != device.isBorn else { return }
        devices[address]?.isBorn = device.isAlive
        if device.isAlive {
            append(.deviceBirth, device.id, device.birth(at: time), time)
        } else {
            append(.deviceDeath, device.id, [], time)
        }
    }

    private mutating func append(
        _ type: SparkplugTopic.MessageType, _ device: String?, _ metrics: [SparkplugMetric], _ time: Int64
    ) {
        let payload = SparkplugPayload(time: time, metrics: metrics, number: nextNumber)
        nextNumber &+= 1
        messages.append(
            Message(
                topic: SparkplugTopic(type, configuration.node, device: device), payload: payload.encoded()))
    }

    /// Returns the messages to publish now, in this order. Many requests for birth messages are answered once.
    mutating func takeMessages(at now: Timestamp) -> [Message] {
        if isBirthRequested { bear(at: now) }
        defer { messages = [] }
        return messages
    }
}
