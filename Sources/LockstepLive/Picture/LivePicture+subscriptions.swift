public import LockstepModel
import LockstepWire
import Synchronization

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
