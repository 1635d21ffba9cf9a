public import LockstepModel
public import LockstepWire
import Synchronization

/// The live picture of all devices of a topic root, which any number of tasks read and subscribe to.
///
/// A ``LiveFeed`` fills it. All decisions are in values: ``LiveDevices`` and one hub for each kind of subscription. This
/// class guards them with a lock and notifies subscribers.
public final class LivePicture: Sendable {
    struct State {
        var devices: LiveDevices
        var samples: SampleHub
        var states: StateHub
        var events: EventHub
        var fleet = DeviceHub()
        var calibrations = CalibrationHub()
        var subscribers: [Int: Subscriber] = [:]
        /// Those that follow a session.
        var followers: [RecordingSession.Key: [Int: AsyncStream<RecordingSession>.Continuation]] = [:]
        /// The followers of deleted sessions, which must not be ended while the lock is held: that calls this class.
        var endedFollowers: [AsyncStream<RecordingSession>.Continuation] = []
        /// The sessions that were followed before the last connection and that the broker has not sent again yet, and when they
        /// count as deleted, in µs of the boot clock.
        var awaitedSessions: (keys: [RecordingSession.Key], until: Int64)?
        /// The subscribers with events that they have not been notified of.
        var touched: [Subscriber] = []
        var lastID = 0
        var isClosed = false
        /// The time of the next events that keep connections open; nil before the first second.
        var nextKeepAlive: Int64?
        var nextSecond: Int64 = 0
        var messages = 0
        var unreadable = 0
        let droppedSamples = DroppedSamples()
    }

    /// The time between events that keep idle connections open, in µs.
    static let keepAliveInterval: Int64 = 15_000_000
    /// The time after a connection in which the broker sends all retained messages, in µs.
    static let retainedTime: Int64 = 10_000_000

    let limits: LiveLimits
    let state: Mutex<State>
    let snapshots = DeviceSnapshots()

    /// Creates a picture without devices.
    /// - Parameters:
    ///   - root: the topic prefix; its `streams` are the streams that are known.
    ///   - instance: the first part of the ids of state changes; nil for a random one.
    public init(root: TopicRoot, limits: LiveLimits = LiveLimits(), instance: String? = nil) {
        self.limits = limits
        let instance = instance ?? "\(Epoch.random())"
        state = Mutex(
            State(
                devices: LiveDevices(root: root, limits: limits), samples: SampleHub(maxBytes: limits.recentBytes),
                states: StateHub(instance: instance, capacity: limits.stateChanges),
                events: EventHub(instance: instance, capacity: limits.events)))
    }

    /// Returns the result of `body`, which reads the devices. Other users of the picture wait meanwhile.
    public func read<Result: Sendable>(_ body: (borrowing LiveDevices) -> Result) -> Result {
        state.withLock { body($0.devices) }
    }

    /// Replaces the streams that are known. Samples of a stream that becomes known are shown from then on.
    public func use(_ streams: StreamCatalog) { state.withLock { $0.devices.root.streams = streams } }

    /// Adds what a store knows, and replaces counters that were added before. It may be called again at any time.
    public func seed(_ seeds: [DeviceSeed]) {
        state.withLock { state in
            for change in state.devices.seed(seeds) { state.distribute(change, at: .now()) }
        }
        notify()
    }

    /// Adds events that a store knows. It may be called again at any time.
    public func seed(_ events: [StoredEvent]) {
        state.withLock { state in
            state.events.seed(events, touched: &state.touched)
        }
        notify()
    }

    /// The last events of rules, oldest first.
    public var events: [StoredEvent] { state.withLock { $0.events.recent } }

    /// Counters of the picture since the program started.
    public struct Statistics: Sendable, Hashable {
        /// The number of messages received.
        public var messages: Int
        /// The number of messages that could not be decoded.
        public var unreadable: Int
        /// The memory of recent samples, in bytes.
        public var recentBytes: Int
        /// The present number of subscribers.
        public var subscribers: Int
        /// The number of samples that slow subscribers have missed, each counted for every subscriber.
        public var droppedSamples: Int64
    }

    /// The counters of the picture.
    public var statistics: Statistics {
        state.withLock {
            Statistics(
                messages: $0.messages, unreadable: $0.unreadable, recentBytes: $0.devices.recent.bytes,
                subscribers: $0.subscribers.count, droppedSamples: $0.droppedSamples.count)
        }
    }

    /// Handles a message. `payload` only has to be valid during the call. ``advance(to:)`` notifies subscribers.
    /// - Parameters:
    ///   - contentType: the content type of the payload, if the sender has set it.
    ///   - moment: the arrival time.
    /// - Returns: the change, or nil if there is none.
    @discardableResult
    public func handle(
        topic: String, payload: UnsafeRawBufferPointer, contentType: String?, at moment: Moment
    ) -> LiveChange? {
        state.withLock { state in
            state.messages += 1
            let change = state.devices.handle(topic: topic, payload: payload, contentType: contentType, at: moment)
            if let change { state.distribute(change, at: moment) }
            return change
        }
    }

    /// Handles a new connection to the broker.
    public func didConnect(at boot: Int64 = Moment.now().boot) {
        state.withLock { state in
            let keys = state.followers.keys.filter { state.devices.sessions[$0] != nil }
            state.awaitedSessions = (keys + (state.awaitedSessions?.keys ?? []), boot + Self.retainedTime)
            state.devices.didConnect()
        }
    }

    /// Whether there are no more updates.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Adds events that are due, ends slow subscribers, and notifies subscribers. Call it after messages, and at the time
    /// that it returns.
    /// - Parameter connectionProblem: why no messages can arrive; nil if they can.
    /// - Returns: the time of the next call, in µs of the boot clock. A message may require an earlier one.
    public func advance(to moment: Moment, connectionProblem: String? = nil) -> Int64 {
        let (deadline, samples, devices) = state.withLock { state in
            let samples = state.samples.takeDue(at: moment.boot)
            var devices: DeviceDeliveries?
            if moment.boot >= state.nextSecond {
                state.nextSecond = moment.boot + 1_000_000
                devices = state.advanceSecond(
                    to: moment, stallTimeout: limits.stallTimeout, connectionProblem: connectionProblem)
            }
            return (min(state.nextSecond, state.samples.nextDeadline ?? .max), samples, devices)
        }
        // Encoded without the lock, so that nobody waits for it.
        var touched: [Subscriber] = []
        for delivery in samples { delivery.deliver(touched: &touched) }
        devices?.deliver(touched: &touched)
        for subscriber in touched { subscriber.notify() }
        notify()
        return deadline
    }

    /// Ends all subscriptions, and refuses further ones.
    public func close(_ reason: String) {
        let (subscribers, followers) = state.withLock { state in
            state.isClosed = true
            return (Array(state.subscribers.values), state.followers.values.flatMap(\.values))
        }
        for follower in followers { follower.finish() }
        for subscriber in subscribers { subscriber.end(reason) }
        for subscriber in subscribers { remove(subscriber.id) }
    }

    func remove(_ id: Int) {
        let isUnused = state.withLock { state in
            state.remove(id)
            return state.fleet.isEmpty
        }
        if isUnused { snapshots.clear() }
    }

    /// Notifies subscribers, and ends followers, outside of the lock, because that resumes their tasks.
    private func notify() {
        let (touched, ended) = state.withLock { state in
            defer { (state.touched, state.endedFollowers) = ([], []) }
            return (state.touched, state.endedFollowers)
        }
        for subscriber in touched { subscriber.notify() }
        for follower in ended { follower.finish() }
    }
}

extension LivePicture.State {
    /// Adds a change to the queues of subscribers.
    mutating func distribute(_ change: LiveChange, at moment: Moment) {
        switch change {
        case .state(let address, let transition): states.add(transition, of: address, touched: &touched)
        case .samples(let batch):
            samples.add(batch, at: moment.boot)
            calibrations.add(batch, at: moment, touched: &touched)
        case .event(let event): events.add(event, touched: &touched)
        case .acknowledged(let entry): events.add(entry, touched: &touched)
        case .session(let key):
            if let session = devices.sessions[key] {
                for follower in (followers[key] ?? [:]).values { follower.yield(session) }
            } else {
                endFollowers(of: key)
            }
        case .unreadable: unreadable += 1
        case .presence(let address, let presence, _): calibrations.add(presence, of: address)
        case .collector, .reply, .forgotten, .collectorForgotten: break
        }
    }

    private mutating func endFollowers(of key: RecordingSession.Key) {
        endedFollowers += (followers.removeValue(forKey: key) ?? [:]).values
    }

    /// Does what is done once a second.
    /// - Returns: the devices that subscribers must receive, or nil if there are none.
    mutating func advanceSecond(
        to moment: Moment, stallTimeout: Int64, connectionProblem: String?
    ) -> DeviceDeliveries? {
        var deliveries: DeviceDeliveries?
        devices.removeExcess(at: moment.boot)
        calibrations.advance(to: moment.boot, connectionProblem: connectionProblem)
        if let awaited = awaitedSessions, moment.boot >= awaited.until {
            for key in awaited.keys where devices.sessions[key] == nil { endFollowers(of: key) }
            awaitedSessions = nil
        }
        if !fleet.isEmpty {
            devices.touchFadingRates(at: moment.boot)
            deliveries = fleet.takeDue(devices, at: moment)
        }
        let keepsAlive = moment.boot >= nextKeepAlive ?? .max
        if keepsAlive || nextKeepAlive == nil { nextKeepAlive = moment.boot + LivePicture.keepAliveInterval }
        for (id, subscriber) in subscribers {
            if subscriber.check(at: moment.boot, stallTimeout: stallTimeout) {
                remove(id)
            } else if keepsAlive, subscriber.isIdle, subscriber.add(EventBytes.keepAlive) {
                touched.append(subscriber)
            }
        }
        return deliveries
    }

    mutating func remove(_ id: Int) {
        guard subscribers.removeValue(forKey: id) != nil else { return }
        samples.remove(id)
        states.remove(id)
        events.remove(id)
        fleet.remove(id)
        calibrations.remove(id)
    }
}

extension LivePicture {
    /// Returns the devices of a group as the JSON object `{"at":…,"devices":[…]}`, sorted by group and name.
    /// - Parameter group: the group; nil for all.
    public func devicesJSON(group: GroupID? = nil, at moment: Moment = .now()) -> [UInt8] {
        // A copy shares the memory of the picture. It is encoded without the lock.
        let devices = read { copy $0 }
        var list: [UInt8] = []
        for device in devices.devices.sorted(by: { $0.address < $1.address })
        where group ?? device.address.group == device.address.group {
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            list += devices.json(of: device, at: moment.boot)
        }
        return DeviceDeliveries.json(list, at: moment.wall)
    }

    /// Returns a device as a JSON object, with the columns and the newest sample of each stream.
    /// - Returns: nil if the device is unknown.
    public func deviceJSON(_ address: DeviceAddress, at moment: Moment = .now()) -> [UInt8]? {
        read { devices in devices[address].map { devices.detailJSON(of: $0, at: moment.boot) } }
    }

    /// Returns the collectors with their health as a JSON array, sorted by group and name.
    public var collectorsJSON: [UInt8] { read { $0.collectorsJSON } }
}

extension LivePicture {
    /// Subscribes to samples.
    ///
    /// The first event is `hello` with the time and the event rate, followed by the recent samples of each stream and then
    /// events `samples`. An event `dropped` has the number of samples that a slow subscriber has missed.
    /// - Throws: ``SubscriptionError`` if there are too many subscribers.
    public func subscribe(to request: SampleRequest, at moment: Moment = .now()) throws(SubscriptionError)
        -> LiveSubscription
    {
        let (subscriber, recent) = try state.withLock { state throws(SubscriptionError) in
            let subscriber = try state.addSubscriber(limits, .dropsSamples)
            return (subscriber, state.samples.add(subscriber, request, devices: state.devices))
        }
        var hello = JSONObjectWriter()
        hello.member("at", moment.wall.microseconds)
        hello.member("hz", request.hz)
        // Encoded without the lock. Samples that arrive meanwhile wait in the subscriber's queue.
        let events = RecentEvents.encode(recent, maxBytes: limits.queueBytes, maxAge: limits.recentAge)
        subscriber.open([EventBytes.event("hello", data: hello.finish())] + events)
        return subscription(subscriber)
    }

    /// Subscribes to changes of states.
    ///
    /// The first events `state` contain the present state of each device, or the changes after `id` if they are still
    /// known. They are followed by an event `ready` and then by changes. A subscriber that is too slow is ended; it can
    /// return with its last id.
    /// - Parameter id: the id of the last event that the subscriber has received before, or nil.
    /// - Throws: ``SubscriptionError`` if there are too many subscribers.
    public func subscribeToStates(after id: String? = nil) throws(SubscriptionError) -> LiveSubscription {
        let (subscriber, prologue) = try state.withLock { state throws(SubscriptionError) in
            let subscriber = try state.addSubscriber(limits, .ends)
            state.states.add(subscriber)
            return (subscriber, state.states.prologue(after: id, devices: state.devices))
        }
        // Changes that arrive meanwhile wait in the subscriber's queue.
        subscriber.open(prologue.events())
        return subscription(subscriber)
    }

    /// Subscribes to events of rules.
    ///
    /// The first events `event` contain the last events, oldest first, or what has changed after `id` if that is still
    /// known. They are followed by an event `ready` and then by further events. An event that is acknowledged is sent
    /// again. A subscriber that is too slow is ended; it can return with its last id.
    /// - Parameter id: the id of the last event that the subscriber has received before, or nil.
    /// - Throws: ``SubscriptionError`` if there are too many subscribers.
    public func subscribeToEvents(after id: String? = nil) throws(SubscriptionError) -> LiveSubscription {
        let (subscriber, events) = try state.withLock { state throws(SubscriptionError) in
            let subscriber = try state.addSubscriber(limits, .ends)
            state.events.add(subscriber)
            return (subscriber, state.events.prologue(after: id))
        }
        subscriber.open(events)
        return subscription(subscriber)
    }

    /// Subscribes to devices.
    ///
    /// The first event `devices` contains all devices of the group, the next ones those that have changed.
    /// - Parameters:
    ///   - group: the group; nil for all.
    ///   - interval: the time between events in µs, in whole seconds. At least one second.
    /// - Throws: ``SubscriptionError`` if there are too many subscribers.
    public func subscribeToDevices(
        group: GroupID? = nil, every interval: Int64 = 1_000_000, at moment: Moment = .now()
    ) throws(SubscriptionError) -> LiveSubscription {
        let interval = max(1_000_000, interval)
        // Before the snapshot, so that a subscription that is refused costs nothing.
        let subscriber = try state.withLock { state throws(SubscriptionError) in
            try state.addSubscriber(limits, .unlimited)
        }
        let snapshot = snapshots.snapshot(of: group, at: moment) { read { copy $0 } }
        state.withLock { state in
            // The picture may have been closed meanwhile.
            guard state.subscribers[subscriber.id] != nil else { return }
            // What has changed since the snapshot is part of the next event.
            state.fleet.add(subscriber, group: group, interval: interval, revision: snapshot.revision, at: moment)
        }
        subscriber.open([snapshot.event])
        return subscription(subscriber)
    }

    /// Guides through the calibration of a device.
    ///
    /// Events `step` say what to do next. The last event is `result` with the calibration, or `end` with the reason why there is
    /// none.
    /// - Parameter replaced: the calibration that the agent applies.
    /// - Returns: nil if another subscriber is guided through that of the same device.
    /// - Throws: ``SubscriptionError`` if there are too many subscribers.
    package func subscribeToCalibration(
        of device: DeviceAddress, hasGyroscope: Bool, replaced: InertialCalibration?, at moment: Moment = .now()
    ) throws(SubscriptionError) -> LiveSubscription? {
        let started = try state.withLock { state throws(SubscriptionError) -> (Subscriber, [UInt8])? in
            guard !state.calibrations.contains(device) else { return nil }
            let subscriber = try state.addSubscriber(limits, .ends)
            return (
                subscriber,
                state.calibrations.add(
                    subscriber, of: device, hasGyroscope: hasGyroscope, replaced: replaced, at: moment.boot)
            )
        }
        guard let (subscriber, first) = started else { return nil }
        subscriber.open([first])
        return subscription(subscriber)
    }

    /// The states of a session: the present one, if it is known, and then each new one. The sequence ends when the session is
    /// deleted or the picture is closed. A reader that is slow misses states.
    public func updates(of key: RecordingSession.Key) -> AsyncStream<RecordingSession> {
        let (stream, follower) = AsyncStream.makeStream(of: RecordingSession.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state -> Int? in
            guard !state.isClosed else { return nil }
            state.lastID += 1
            state.followers[key, default: [:]][state.lastID] = follower
            if let session = state.devices.sessions[key] { follower.yield(session) }
            return state.lastID
        }
        guard let id else {
            follower.finish()
            return stream
        }
        follower.onTermination = { [weak self] _ in
            self?.state.withLock { state in
                state.followers[key]?[id] = nil
                if state.followers[key]?.isEmpty == true { state.followers[key] = nil }
            }
        }
        return stream
    }

    private func subscription(_ subscriber: Subscriber) -> LiveSubscription {
        LiveSubscription(subscriber) { [weak self] in self?.remove(subscriber.id) }
    }
}

extension LivePicture.State {
    fileprivate mutating func addSubscriber(
        _ limits: LiveLimits, _ overflow: EventQueue.Overflow
    ) throws(SubscriptionError) -> Subscriber {
        guard !isClosed else { throw .closed }
        guard subscribers.count < limits.subscribers else { throw .tooManySubscribers(limit: limits.subscribers) }
        lastID += 1
        let subscriber = Subscriber(
            id: lastID, limit: limits.queueBytes, overflow: overflow, droppedSamples: droppedSamples)
        subscribers[lastID] = subscriber
        return subscriber
    }
}
