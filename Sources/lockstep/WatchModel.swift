import FoundationEssentials
import LockstepCommandLine
import LockstepModel
import LockstepWire

/// What `lockstep watch` knows of the devices: messages in, events out.
struct WatchModel {
    /// The span over which a rate is taken, in µs: batches come about once a second.
    static let rateWindow: Int64 = 5_000_000

    struct Device {
        var transition: LifecycleTransition?
        var presence: Presence?
        var newest: Timestamp?
        /// When live samples came and how many, of the last seconds, by stream.
        fileprivate(set) var arrivals: [SensorStream: [Arrival]] = [:]
        /// The same of what was sent late or again, all streams together.
        fileprivate(set) var backlog: [Arrival] = []
        /// When the first samples came since this program listens, in µs since boot.
        fileprivate var listeningSince: Int64?

        /// Live samples a second of a stream.
        func rate(of stream: SensorStream, at boot: Int64) -> Double { rate(arrivals[stream, default: []], boot) }

        /// The built-in streams, and the declared streams that the device has sent.
        var streams: [SensorStream] {
            SensorStream.builtIn + arrivals.keys.filter(\.isDeclared).sorted { $0.name < $1.name }
        }

        /// Samples a second that were sent late or again.
        func backlogRate(at boot: Int64) -> Double { rate(backlog, boot) }

        private func rate(_ arrivals: [Arrival], _ boot: Int64) -> Double {
            let count = arrivals.reduce(0) { boot - $1.at < WatchModel.rateWindow ? $0 + $1.count : $0 }
            // Whole seconds, so that a rate is right from the first batch on.
            let seconds = (boot - (listeningSince ?? boot)) / 1_000_000 + 1
            return Double(count) / Double(min(seconds, WatchModel.rateWindow / 1_000_000))
        }

        fileprivate mutating func count(_ batch: Batch, at boot: Int64) {
            let arrival = Arrival(at: boot, count: batch.samples.count)
            listeningSince = listeningSince ?? boot
            if batch.isLive {
                arrivals[batch.samples.stream, default: []].append(arrival, at: boot)
            } else {
                backlog.append(arrival, at: boot)
            }
        }

        /// What sources have to say, other than that they run.
        var troubles: [String] {
            (presence?.sources ?? [:]).filter { $0.value != "running" }.map { "\($0.key): \($0.value)" }.sorted()
        }
    }

    /// Samples of one message, and when it came, in µs since boot.
    struct Arrival {
        let at: Int64
        let count: Int
    }

    enum Event {
        case state(DeviceAddress, LifecycleTransition)
        case presence(DeviceAddress, Presence)
        case collector(GroupID, CollectorID, CollectorHealth)
        /// Samples of a device, where they are asked for.
        case batch(DeviceAddress, Batch)
        /// A message that can't be read.
        case unreadable(topic: String, reason: String)
    }

    private(set) var devices: [DeviceAddress: Device] = [:]
    private(set) var collectors: [String: CollectorHealth] = [:]
    /// The streams that have topics.
    var streams: [SensorStream] { root.streams.streams }
    private let root: TopicRoot
    private let device: DeviceID?
    private let tellsBatches: Bool

    /// - Parameters:
    ///   - device: the only one to watch; nil for all.
    ///   - tellsBatches: whether each batch is an event.
    init(root: TopicRoot, device: DeviceID?, tellsBatches: Bool = false) {
        self.root = root
        self.device = device
        self.tellsBatches = tellsBatches
    }

    /// Forgets rates: nothing was heard while the connection was down.
    mutating func startListening() {
        for address in devices.keys {
            devices[address]?.arrivals = [:]
            devices[address]?.backlog = []
            devices[address]?.listeningSince = nil
        }
    }

    /// - Parameter contentType: of the payload, where the sender has told it.
    mutating func handle(topic: String, payload: Data, contentType: String? = nil, at moment: Moment) -> Event? {
        guard !payload.isEmpty else { return nil }
        do {
            switch try root.parse(topic) {
            case .collector(let group, let id): return try handle(payload, ofCollector: id, in: group)
            case .device(let address, let channel):
                guard device == nil || device == address.device else { return nil }
                return try handle(payload, contentType: contentType, on: channel, of: address, at: moment)
            }
        } catch {
            return .unreadable(topic: topic, reason: "\(error)")
        }
    }

    private mutating func handle(
        _ payload: Data, contentType: String?, on channel: Channel, of address: DeviceAddress, at moment: Moment
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
            // The will of a session that a later one has followed.
            if let last = before?.session, let session = presence.session, session < last { return nil }
            known.presence = presence
            // A heartbeat that says nothing new is no event.
            let isNews =
                before?.phase != presence.phase || before?.session != presence.session
                || before?.sources != presence.sources || before?.droppedSamples != presence.droppedSamples
            return isNews ? .presence(address, presence) : nil
        case .stream(let stream):
            let batch = try BatchEncoding.decode(payload, contentType: contentType, stream: stream)
            let last = batch.samples.times.last.map(Timestamp.init(microseconds:))
            known.newest = [known.newest, last].compactMap(\.self).max()
            known.count(batch, at: moment.boot)
            return tellsBatches ? .batch(address, batch) : nil
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

extension [WatchModel.Arrival] {
    /// Adds one, and forgets those that no rate needs any more.
    fileprivate mutating func append(_ arrival: WatchModel.Arrival, at boot: Int64) {
        removeAll { boot - $0.at >= WatchModel.rateWindow }
        append(arrival)
    }
}
