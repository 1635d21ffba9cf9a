import FoundationEssentials
import LockstepCommandLine
import LockstepLive
import LockstepModel
import LockstepWire

/// The state of all devices as seen by `lockstep watch`: it receives messages and returns events.
struct WatchModel {
    /// The time over which rates are averaged, in µs. Batches arrive about once per second.
    static let rateWindow: Int64 = 5_000_000

    struct Device {
        private let live: LiveDevice

        fileprivate init(_ live: LiveDevice) { self.live = live }

        var transition: LifecycleTransition? { live.transition }
        var presence: Presence? { live.presence }
        /// The time of the newest sample.
        var newest: Timestamp? { live.newest }
        /// The streams of which live samples have arrived, sorted.
        var streams: [SensorStream] { live.arrivedStreams }

        /// Returns the rate of live samples of a stream, in samples per second.
        func rate(of stream: SensorStream, at boot: Int64) -> Double {
            live.rate(of: stream, at: boot, window: WatchModel.rateWindow)
        }

        /// Returns the rate of backlog, in samples per second.
        func backlogRate(at boot: Int64) -> Double { live.backlogRate(at: boot, window: WatchModel.rateWindow) }

        /// The status of each source that is not running.
        var sourceProblems: [String] {
            (presence?.sources ?? [:]).filter { $0.value != "running" }.map { "\($0.key): \($0.value)" }.sorted()
        }
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

    private var live: LiveDevices
    private let reportsBatches: Bool

    /// Creates a model without devices.
    /// - Parameters:
    ///   - root: the topic prefix.
    ///   - device: the only device to watch, in one group or in all groups; nil for all devices.
    ///   - reportsBatches: whether each batch is an event.
    init(root: TopicRoot, device: DeviceArgument?, reportsBatches: Bool = false) {
        var options = LiveDevices.Options()
        options.rateWindow = Self.rateWindow
        options.addsAddressedDevices = true
        if let device { options.selects = { device.selects($0) } }
        live = LiveDevices(
            root: root, limits: LiveLimits(devices: .max, collectors: .max, recentBytes: 0), options: options)
        self.reportsBatches = reportsBatches
    }

    var devices: [DeviceAddress: Device] {
        Dictionary(uniqueKeysWithValues: live.devices.map { ($0.address, Device($0)) })
    }

    /// The collectors, by `group/id`.
    var collectors: [String: CollectorHealth] {
        Dictionary(uniqueKeysWithValues: live.collectors.map { ("\($0.key.group)/\($0.key.collector)", $0.value) })
    }

    /// The streams of which live samples of any device have arrived, sorted.
    var streams: [SensorStream] { Set(live.devices.flatMap(\.arrivedStreams)).sorted { $0.precedes($1) } }

    /// Handles a new connection: resets rates, because messages were missed while the connection was down.
    mutating func didConnect() { live.didConnect() }

    /// Handles a message.
    /// - Parameters:
    ///   - contentType: the content type of the payload, if the sender has set it.
    ///   - moment: the arrival time.
    /// - Returns: the event, if there is a change.
    mutating func handle(topic: String, payload: Data, contentType: String? = nil, at moment: Moment) -> Event? {
        let change = payload.withUnsafeBytes {
            live.handle(topic: topic, payload: $0, contentType: contentType, at: moment)
        }
        switch change {
        case .state(let address, let transition): return .state(address, transition)
        case .presence(let address, let presence, isNews: true): return .presence(address, presence)
        case .samples(let live): return reportsBatches ? .batch(live.address, live.batch) : nil
        case .collector(let group, let id, let health, isNews: true): return .collector(group, id, health)
        case .unreadable(let topic, let reason): return .unreadable(topic: topic, reason: reason)
        case .presence, .collector, .reply, .event, .acknowledged, .forgotten, .collectorForgotten, .session, nil:
            return nil
        }
    }
}
