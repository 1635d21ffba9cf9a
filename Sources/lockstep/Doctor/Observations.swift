import FoundationEssentials
import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

/// A summary of the messages that a system publishes within a few seconds.
struct Observations {
    /// A summary of the messages of one device.
    struct Device {
        var state: LifecycleTransition?
        var presence: Presence?
        /// The last problem that a presence has named during the observation, or nil. Another agent with the same name may
        /// have published a presence since.
        var problem: String?
        /// The last report of its clock in this session.
        var clock: ClockReport?
        /// The session of the last presence.
        var session: Int64?
        var ack: Acknowledgement?
        /// Whether a collector has acknowledged batches during the observation.
        var isAcknowledged = false
        /// Whether samples of streams have arrived that this program cannot decode.
        var hasUndeclaredStreams = false
        /// The last message with a refusal of a collector, or nil if the batch is stored now.
        private(set) var refused: Acknowledgement?
        /// The epochs of the live batches, and of the first presence of each session.
        var liveEpochs = LiveEpochs()
        /// The highest sequence number received, by epoch.
        var highest: [Epoch: Int64] = [:]
        /// The time from the newest sample of each live batch to its arrival, in µs.
        var latencies: [Int64] = []

        mutating func record(_ message: Acknowledgement) {
            if message.refusal == nil { ack = message } else { refused = message }
            // Another collector may store the batch.
            if let refused, let seq = refused.refusal?.seq, let ack, ack.epoch == refused.epoch,
                ack.stored.contains(seq)
            {
                self.refused = nil
            }
        }

        mutating func record(_ presence: Presence) {
            // A message about the dropped batches of an earlier epoch has no report of the clock.
            if presence.clock != nil || presence.session != self.presence?.session || presence.phase == .lost {
                clock = presence.clock
            }
            self.presence = presence
            problem = presence.problem ?? problem
            // An agent that stops has solved the problem, or cannot.
            if presence.phase == .terminated { problem = presence.problem }
            // Later messages of a session may be about dropped batches of an earlier epoch.
            guard let new = presence.session, new != session else { return }
            session = new
            if let epoch = presence.epoch { liveEpochs.add(epoch) }
        }
    }

    var broker: BrokerAddress
    /// Whether there is a certificate of the client, but no user name. Then the certificate usually names the user.
    var userIsOfCertificate = false
    /// The MQTT version of the connection; nil if the broker was not reached.
    var version: MQTTVersion?
    /// The addresses of the broker's host that did not answer, although another one did.
    var unansweredAddresses: [String] = []
    /// The error that prevented the connection.
    var failure: MQTTError?
    /// The software of the broker: `mosquitto version 2.0.11`.
    var software: String?
    /// Whether this user is allowed to read all topics.
    var canRead = true
    /// Whether this user is allowed to publish on the topics of a device; nil if the broker has not told.
    var canWriteAsDevice: Bool?
    /// Whether the user has set the MQTT version.
    var isVersionChosen = false
    /// Whether the broker keeps retained messages, as far as it says so.
    var isRetainAvailable = true
    /// The maximum number of messages in flight to the broker; nil if it sets no limit, as far as it says so.
    var maxInFlight: Int?
    /// Whether a retained message has arrived by the subscription to all topics.
    var hasRetained = false
    /// Whether a message has arrived that a device may not read.
    var hasOthersMessage: Bool { !collectors.isEmpty || !gateways.isEmpty || devices.count > 1 }
    /// The number of times that the connection was lost, or could not be made again.
    var losses = 0
    /// The duration of the observation, in s.
    var seconds = 0.0
    var devices: [DeviceAddress: Device] = [:]
    /// The collectors, by `group/id`.
    var collectors: [String: CollectorHealth] = [:]
    /// How far the clocks of the collectors are ahead of this machine's, in µs, by `group/id`.
    var collectorClocks: [String: Int64] = [:]
    /// The ends of the validity of this user's certificates, and of the broker's.
    var certificates: CertificateTimes = [:]
    /// The stores that collectors have reported during the observation, without repetitions. Collectors with one id use the
    /// same session of the broker, whatever their groups are.
    var collectorStores: [CollectorID: [CollectorHealth.Store]] = [:]
    /// The gateways, by `group/id`.
    var gateways: [String: GatewayHealth] = [:]
    /// The reason why a message is unreadable, by topic.
    var unreadable: [String: String] = [:]
    /// The names of the streams that were received, but are not declared in the settings of this program.
    var undeclared: Set<String> = []
    /// The free and the total disk space of the store, in bytes; nil without a store.
    var disk: (free: Int64, size: Int64)?

    /// The store, or nil if none was given.
    var store: StoreAddress?

    /// The location of an SQLite store; nil if none was given.
    var storeLocation: StoreLocation?

    /// What the server of a ClickHouse store reports; nil without such a store.
    var servers: [ServerDiagnosis] = []

    init(broker: BrokerAddress) { self.broker = broker }

    /// The topic on which mosquitto publishes its name and version.
    static let softwareTopic = "$SYS/broker/version"

    /// The topic for testing access rights: the presence of a device that does not exist. All programs ignore an empty
    /// message there.
    static func probeTopic(_ root: TopicRoot) -> String {
        root.topic(
            DeviceAddress(group: .standard, device: DeviceID(unchecked: "lockstep-doctor")), .presence)
    }

    /// Adds a message to the summary.
    mutating func record(
        topic: String, payload: Data, contentType: String?, isRetained: Bool, root: TopicRoot, at now: Timestamp
    ) {
        if topic == Self.softwareTopic {
            software = String(decoding: payload, as: UTF8.self).printable
            return
        }
        if topic == Self.probeTopic(root) {
            // The echo of the test message. Brokers without MQTT 5 do not report a refusal.
            canWriteAsDevice = true
            return
        }
        guard !payload.isEmpty else { return }
        if isRetained { hasRetained = true }
        do {
            switch try root.parse(topic) {
            case .collector(let group, let id):
                let health = try CollectorHealth.decode(payload)
                collectors["\(group)/\(id)"] = health
                if !isRetained, health.status != .offline {
                    collectorClocks["\(group)/\(id)"] = health.at - now
                    if let store = health.store { recordStore(store, of: id) }
                }
            case .collectorEvent, .session: break
            case .gateway(let group, let id):
                gateways["\(group)/\(id)"] = try GatewayHealth.decode(payload)
            case .device(let address, let channel):
                try record(
                    payload, contentType: contentType, on: channel, of: address, isRetained: isRetained, at: now)
            }
        } catch {
            if recordUndeclared(topic, root: root) { return }
            unreadable[topic] = "\(error)"
        }
    }

    /// Records a message of a stream that collectors may know by a declaration in their settings.
    private mutating func recordUndeclared(_ topic: String, root: TopicRoot) -> Bool {
        guard topic.hasPrefix(root.text + "/") else { return false }
        let levels = topic.dropFirst(root.text.count + 1)
            .split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard levels.count == 3, case let name = levels[2], root.streams.stream(named: name) == nil,
            SensorStream.undeclared(name) != nil, let group = try? GroupID(validating: levels[0]),
            let device = try? DeviceID(validating: levels[1])
        else { return false }
        undeclared.insert(name)
        devices[DeviceAddress(group: group, device: device), default: Device()].hasUndeclaredStreams = true
        return true
    }

    private mutating func recordStore(_ store: CollectorHealth.Store, of collector: CollectorID) {
        guard !collectorStores[collector, default: []].contains(where: { $0.id == store.id }) else { return }
        collectorStores[collector, default: []].append(store)
    }

    private mutating func record(
        _ payload: Data, contentType: String?, on channel: Channel, of address: DeviceAddress, isRetained: Bool,
        at now: Timestamp
    ) throws {
        switch channel {
        case .state: devices[address, default: Device()].state = try StateJSON.decode(payload)
        case .presence:
            devices[address, default: Device()].record(try PresenceJSON.decode(payload))
        case .ack:
            devices[address, default: Device()].record(try AcknowledgementJSON.decode(payload))
            if !isRetained { devices[address]?.isAcknowledged = true }
        case .stream(let stream):
            let batch = try BatchEncoding.decode(payload, contentType: contentType, stream: stream)
            if let position = batch.position {
                let before = devices[address]?.highest[position.epoch] ?? 0
                devices[address, default: Device()].highest[position.epoch] = max(before, position.seq)
                if batch.isLive, !isRetained { devices[address]?.liveEpochs.add(position.epoch) }
            }
            if batch.isLive, !isRetained, let last = batch.samples.times.last {
                devices[address, default: Device()].latencies.append(now.microseconds - last)
            }
        case .command, .commandReply, .event, .eventAcknowledge, .eventAcknowledged, .forget, .forgotten, .delete,
            .clockPing,
            .clockPong:
            break
        }
    }
}

/// The order of the epochs of a device's live batches and sessions.
///
/// An agent ends an epoch before it begins the next one. If an epoch continues after another one, several agents publish
/// under the name of the device.
struct LiveEpochs {
    private var last: Epoch?
    private var earlier: Set<Epoch> = []
    /// Whether an epoch has continued after another one.
    private(set) var alternate = false

    /// Adds the epoch of a live batch, or of the first presence of a session.
    mutating func add(_ epoch: Epoch) {
        guard epoch != last else { return }
        if let last { earlier.insert(last) }
        if earlier.contains(epoch) { alternate = true }
        last = epoch
    }
}
