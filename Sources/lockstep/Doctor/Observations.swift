import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// What was heard of a Lockstep from outside, in some seconds.
struct Observations {
    /// One device.
    struct Device {
        var state: LifecycleTransition?
        var presence: Presence?
        var ack: Acknowledgement?
        /// The highest number of a batch heard, by epoch.
        var highest: [Epoch: Int64] = [:]
        /// From the newest sample of each live batch to its arrival here, in µs.
        var lags: [Int64] = []
    }

    var broker: BrokerAddress
    /// The version of MQTT that the broker speaks; nil where it was not reached.
    var version: MQTTVersion?
    /// Why it was not reached.
    var failure: MQTTError?
    /// Its own name for itself: `mosquitto version 2.0.11`.
    var software: String?
    /// Whether the broker lets this user read what it wants to look at.
    var mayRead = true
    /// Whether the broker took what only one device may say, from this user, who is no device.
    var wroteAsDevice = false
    /// How long was listened, in s.
    var seconds = 0.0
    var devices: [DeviceAddress: Device] = [:]
    /// By `group/id`.
    var collectors: [String: CollectorHealth] = [:]
    /// Topics of messages that can't be read, with the reason.
    var unreadable: [String: String] = [:]
    /// Free bytes where the store is, and bytes in all; nil where none was named.
    var disk: (free: Int64, size: Int64)?

    init(broker: BrokerAddress) { self.broker = broker }

    /// Where brokers say what they are.
    static let softwareTopic = "$SYS/broker/version"

    /// Where nobody but a device that there is not may write. An empty message there is nothing to anybody.
    static func probeTopic(_ root: TopicRoot) -> String {
        root.topic(
            DeviceAddress(group: .standard, device: DeviceID(unchecked: "lockstep-doctor")), .presence)
    }

    mutating func hear(
        topic: String, payload: Data, contentType: String?, isRetained: Bool, root: TopicRoot, at now: Timestamp
    ) {
        if topic == Self.softwareTopic {
            software = String(decoding: payload, as: UTF8.self).printable
            return
        }
        if topic == Self.probeTopic(root) {
            // The echo of the own word: brokers without MQTT 5 don't tell of a refusal.
            wroteAsDevice = true
            return
        }
        guard !payload.isEmpty else { return }
        do {
            switch try root.parse(topic) {
            case .collector(let group, let id): collectors["\(group)/\(id)"] = try CollectorHealth.decode(payload)
            case .device(let address, let channel):
                try hear(
                    payload, contentType: contentType, on: channel, of: address, isRetained: isRetained, at: now)
            }
        } catch {
            unreadable[topic] = "\(error)"
        }
    }

    private mutating func hear(
        _ payload: Data, contentType: String?, on channel: Channel, of address: DeviceAddress, isRetained: Bool,
        at now: Timestamp
    ) throws {
        switch channel {
        case .state: devices[address, default: Device()].state = try StateJSON.decode(payload)
        case .presence: devices[address, default: Device()].presence = try PresenceJSON.decode(payload)
        case .ack: devices[address, default: Device()].ack = try AcknowledgementJSON.decode(payload)
        case .stream(let stream):
            let batch = try BatchEncoding.decode(payload, contentType: contentType, stream: stream)
            if let position = batch.position {
                let before = devices[address]?.highest[position.epoch] ?? 0
                devices[address, default: Device()].highest[position.epoch] = max(before, position.seq)
            }
            if batch.isLive, !isRetained, let last = batch.samples.times.last {
                devices[address, default: Device()].lags.append(now.microseconds - last)
            }
        case .command, .commandReply, .clockPing, .clockPong: break
        }
    }
}
