import FoundationEssentials
import LockstepCommandLine
import LockstepModel
import LockstepWire

/// What `lockstep watch` knows of the devices: messages in, events out.
struct WatchModel {
    /// Seconds over which a rate is taken: batches come about once a second.
    static let rateWindow: Int64 = 5_000_000

    struct Device {
        var transition: LifecycleTransition?
        var presence: Presence?
        var newest: Timestamp?
        /// When samples came and how many, of the last seconds, by stream.
        fileprivate(set) var arrivals: [SensorStream: [(at: Int64, count: Int)]] = [:]

        /// Samples a second of a stream.
        func rate(of stream: SensorStream, at boot: Int64) -> Double {
            let recent = arrivals[stream, default: []].filter { boot - $0.at < WatchModel.rateWindow }
            return Double(recent.reduce(0) { $0 + $1.count }) * 1e6 / Double(WatchModel.rateWindow)
        }

        /// What sources have to say, other than that they run.
        var troubles: [String] {
            (presence?.sources ?? [:]).filter { $0.value != "running" }.map { "\($0.key): \($0.value)" }.sorted()
        }
    }

    enum Event {
        case state(DeviceAddress, LifecycleTransition)
        case presence(DeviceAddress, Presence)
        case collector(GroupID, CollectorID, CollectorHealth)
        /// A message that can't be read.
        case unreadable(topic: String, reason: String)
    }

    private(set) var devices: [DeviceAddress: Device] = [:]
    private(set) var collectors: [String: CollectorHealth] = [:]
    private let root: TopicRoot
    private let device: DeviceID?

    /// - Parameter device: the only one to watch; nil for all.
    init(root: TopicRoot, device: DeviceID?) {
        self.root = root
        self.device = device
    }

    mutating func handle(topic: String, payload: Data, at moment: Moment) -> Event? {
        guard !payload.isEmpty else { return nil }
        do {
            switch try root.parse(topic) {
            case .collector(let group, let id): return try handle(payload, ofCollector: id, in: group)
            case .device(let address, let channel):
                guard device == nil || device == address.device else { return nil }
                return try handle(payload, on: channel, of: address, at: moment)
            }
        } catch {
            return .unreadable(topic: topic, reason: "\(error)")
        }
    }

    private mutating func handle(
        _ payload: Data, on channel: Channel, of address: DeviceAddress, at moment: Moment
    ) throws -> Event? {
        var known = devices[address] ?? Device()
        defer { devices[address] = known }
        switch channel {
        case .state:
            let transition = try StateJSON.decode(payload)
            guard transition != known.transition else { return nil }
            known.transition = transition
            return .state(address, transition)
        case .presence:
            let presence = try PresenceJSON.decode(payload)
            let before = known.presence
            known.presence = presence
            // A heartbeat that says nothing new is no event.
            let isNews =
                before?.phase != presence.phase || before?.session != presence.session
                || before?.sources != presence.sources || before?.droppedSamples != presence.droppedSamples
            return isNews ? .presence(address, presence) : nil
        case .stream(let stream):
            let samples = try BatchJSON.decode(payload, stream: stream).samples
            known.newest = max(known.newest ?? .init(microseconds: 0), Timestamp(microseconds: samples.times.last ?? 0))
            known.arrivals[stream, default: []].removeAll { moment.boot - $0.at >= Self.rateWindow }
            known.arrivals[stream, default: []].append((moment.boot, samples.count))
            return nil
        case .ack, .command, .commandReply, .clockPing, .clockPong: return nil
        }
    }

    private mutating func handle(
        _ payload: Data, ofCollector id: CollectorID, in group: GroupID
    ) throws -> Event? {
        let health = try CollectorHealth.decode(payload)
        let before = collectors.updateValue(health, forKey: "\(group)/\(id)")
        return before?.status == health.status && before?.problem == health.problem
            ? nil : .collector(group, id, health)
    }
}
