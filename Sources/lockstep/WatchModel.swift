import FoundationEssentials
import LockstepCommandLine
import LockstepLive
import LockstepModel
import LockstepWire

/// The state of all devices as seen by `lockstep watch`: it receives messages and returns events.
struct WatchModel {
    /// The time over which rates are averaged, in µs. Batches arrive about once per second.
    static let rateWindow: Int64 = 5_000_000

    /// The state of one device.
    struct Device {
        var transition: LifecycleTransition?
        var presence: Presence?
        /// The time of the newest sample.
        var newest: Timestamp?
        /// The recent arrivals of live samples, by stream.
        fileprivate(set) var arrivals: [SensorStream: [Arrival]] = [:]
        /// The recent arrivals of backlog, for all streams.
        fileprivate(set) var backlog: [Arrival] = []
        /// The time of the first samples on this connection, in µs of the boot clock.
        fileprivate var firstArrivalAt: Int64?

        /// The streams of which live samples have arrived, sorted.
        var streams: [SensorStream] { arrivals.keys.sorted { $0.precedes($1) } }

        /// Returns the rate of live samples of a stream, in samples per second.
        func rate(of stream: SensorStream, at boot: Int64) -> Double { rate(arrivals[stream, default: []], boot) }

        /// Returns the rate of backlog, in samples per second.
        func backlogRate(at boot: Int64) -> Double { rate(backlog, boot) }

        private func rate(_ arrivals: [Arrival], _ boot: Int64) -> Double {
            let count = arrivals.reduce(0) { boot - $1.at < WatchModel.rateWindow ? $0 + $1.count : $0 }
            // Batches arrive once per second, so round up to whole seconds: the rate is then correct from the first
            // batch.
            let seconds = (boot - (firstArrivalAt ?? boot)) / 1_000_000 + 1
            return Double(count) / Double(min(seconds, WatchModel.rateWindow / 1_000_000))
        }

        fileprivate mutating func count(_ batch: Batch, at boot: Int64) {
            let arrival = Arrival(at: boot, count: batch.samples.count)
            firstArrivalAt = firstArrivalAt ?? boot
            if batch.isLive {
                arrivals[batch.samples.stream, default: []].append(arrival, at: boot)
            } else {
                backlog.append(arrival, at: boot)
            }
        }

        /// The status of each source that is not running.
        var sourceProblems: [String] {
            (presence?.sources ?? [:]).filter { $0.value != "running" }.map { "\($0.key): \($0.value)" }.sorted()
        }
    }

    /// The number of samples in a message, and its arrival time in µs of the boot clock.
    struct Arrival {
        let at: Int64
        let count: Int
    }

    /// A change that is reported as one line of output.
    enum Event {
        case state(DeviceAddress, LifecycleTransition)
        case presence(DeviceAddress, Presence)
        case collector(GroupID, CollectorID, CollectorHealth)
        /// A batch, if batches are reported.
        case batch(DeviceAddress, Batch)
        /// A message that cannot be decoded.
        case unreadable(topic: String, reason: String)
    }

    private(set) var devices: [DeviceAddress: Device] = [:]
    /// The collectors, by `group/id`.
    private(set) var collectors: [String: CollectorHealth] = [:]
    private let root: TopicRoot
    private let device: DeviceArgument?
    private let reportsBatches: Bool

    /// Creates a model without devices.
    /// - Parameters:
    ///   - root: the topic prefix.
    ///   - device: the only device to watch, in one group or in all groups; nil for all devices.
    ///   - reportsBatches: whether each batch is an event.
    init(root: TopicRoot, device: DeviceArgument?, reportsBatches: Bool = false) {
        self.root = root
        self.device = device
        self.reportsBatches = reportsBatches
    }

    /// The streams of which live samples of any device have arrived, sorted.
    var streams: [SensorStream] {
        Set(devices.values.flatMap(\.arrivals.keys)).sorted { $0.precedes($1) }
    }

    /// Handles a new connection: resets rates, because messages were missed while the connection was down.
    mutating func didConnect() {
        for address in devices.keys {
            for stream in devices[address]?.streams ?? [] { devices[address]?.arrivals[stream] = [] }
            devices[address]?.backlog = []
            devices[address]?.firstArrivalAt = nil
        }
    }

    /// Handles a message.
    /// - Parameters:
    ///   - contentType: the content type of the payload, if the sender has set it.
    ///   - moment: the arrival time.
    /// - Returns: the event, if there is a change.
    mutating func handle(topic: String, payload: Data, contentType: String? = nil, at moment: Moment) -> Event? {
        guard !payload.isEmpty else { return nil }
        do {
            switch try root.parse(topic) {
            case .collector(let group, let id): return try handle(payload, ofCollector: id, in: group)
            case .device(let address, let channel):
                guard device?.selects(address) ?? true else { return nil }
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
            // Ignore the last will of an earlier session, which the broker may publish late.
            if let last = before?.session, let session = presence.session, session < last { return nil }
            known.presence = presence
            // A heartbeat without a change is not an event.
            let isChange =
                before?.phase != presence.phase || before?.session != presence.session
                || before?.sources != presence.sources || before?.droppedSamples != presence.droppedSamples
            return isChange ? .presence(address, presence) : nil
        case .stream(let stream):
            let batch = try BatchEncoding.decode(payload, contentType: contentType, stream: stream)
            let last = batch.samples.times.last.map(Timestamp.init(microseconds:))
            known.newest = [known.newest, last].compactMap(\.self).max()
            known.count(batch, at: moment.boot)
            return reportsBatches ? .batch(address, batch) : nil
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
    /// Adds an arrival, and removes those that are too old for a rate.
    fileprivate mutating func append(_ arrival: WatchModel.Arrival, at boot: Int64) {
        removeAll { boot - $0.at >= WatchModel.rateWindow }
        append(arrival)
    }
}
