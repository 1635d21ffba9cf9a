import LockstepModel
import LockstepWire

/// Keeps the last events of rules, and distributes new and acknowledged ones to subscribers.
struct EventHub {
    private var log: ChangeLog
    private let capacity: Int
    /// The keys of the last events, in the order of their arrival.
    private var order = RingQueue<RuleEvent.Key>()
    /// The highest number of an event of the store.
    private var lastSeed: Int64 = 0
    /// The last events, in no order.
    private var events: [RuleEvent.Key: StoredEvent] = [:]
    private var subscribers: [Int: Subscriber] = [:]

    /// - Parameter capacity: the maximum number of events.
    init(instance: String, capacity: Int) {
        log = ChangeLog(instance: instance, capacity: capacity)
        self.capacity = capacity
    }

    /// The last events, oldest first.
    var recent: [StoredEvent] { events.values.sorted(by: Self.precedes) }

    /// Adds events of the store. Those that were added by an earlier call are not added again, even if they are no longer
    /// kept.
    /// - Parameter touched: receives the subscribers to notify.
    mutating func seed(_ stored: [StoredEvent], touched: inout [Subscriber]) {
        let newest = stored.map(\.id).max() ?? 0
        // Lower numbers are those of another store.
        let seen = newest < lastSeed ? 0 : lastSeed
        for event in stored {
            if events[event.key] == nil {
                guard event.id > seen else { continue }
                // The first events of a store may be older than those of messages.
                if seen == 0, events.count >= capacity, let oldest = events.values.min(by: Self.precedes),
                    Self.precedes(event, oldest)
                {
                    continue
                }
            }
            add(event, touched: &touched)
        }
        lastSeed = newest
    }

    /// Adds an event, in place of the one that arrived first if there are too many. The clock may have been set back, so
    /// their times do not tell which one is the oldest. The same event again is ignored, unless it is now acknowledged.
    /// - Parameter touched: receives the subscribers to notify.
    mutating func add(_ event: StoredEvent, touched: inout [Subscriber]) {
        if let known = events[event.key] {
            if let time = event.acknowledged { acknowledge(known, at: time, touched: &touched) }
            return
        }
        if order.count >= capacity, let first = order.removeFirst() { events[first] = nil }
        order.append(event.key)
        events[event.key] = event
        distribute("event", EventJSON.encode(event), touched: &touched)
    }

    private static func precedes(_ left: StoredEvent, _ right: StoredEvent) -> Bool {
        (left.at, left.id) < (right.at, right.id)
    }

    /// Records that an event is acknowledged. Of an event that is not kept, subscribers receive only the confirmation.
    mutating func add(_ confirmation: StoredAcknowledgement, touched: inout [Subscriber]) {
        if let known = events[confirmation.key] {
            acknowledge(known, at: confirmation.acknowledged, touched: &touched)
        } else {
            distribute(
                "acknowledged", EventAcknowledgementJSON.encode(confirmation, includesDevice: true), touched: &touched)
        }
    }

    private mutating func acknowledge(_ event: StoredEvent, at time: Timestamp, touched: inout [Subscriber]) {
        guard event.acknowledged == nil else { return }
        var event = event
        event.acknowledged = time
        events[event.key] = event
        distribute("event", EventJSON.encode(event), touched: &touched)
    }

    private mutating func distribute(_ name: String, _ data: [UInt8], touched: inout [Subscriber]) {
        let bytes = log.add(name, data)
        for subscriber in subscribers.values where subscriber.add(bytes) { touched.append(subscriber) }
    }

    mutating func add(_ subscriber: Subscriber) { subscribers[subscriber.id] = subscriber }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) { subscribers[id] = nil }

    /// Returns the first events of a subscriber: what has changed after an event that it has received, or else the last
    /// events. These have no id: a subscriber that has received only a part of them cannot resume.
    func prologue(after id: String?) -> [[UInt8]] {
        (log.changes(after: id) ?? recent.map { EventBytes.event("event", data: EventJSON.encode($0)) }) + [log.ready]
    }
}

/// The recent samples that a new subscriber receives first, limited in time and size.
enum RecentEvents {
    /// Returns one event for each stream of each device.
    /// - Parameters:
    ///   - maxBytes: the approximate maximum size of all events. If there is more, each stream has the same share, with its
    ///     newest samples.
    ///   - maxAge: the maximum time before the newest sample of the stream, in µs.
    static func encode(
        _ recent: [(address: DeviceAddress, samples: [SampleBlock])], maxBytes: Int, maxAge: Int64
    ) -> [[UInt8]] {
        guard !recent.isEmpty else { return [] }
        let share = maxBytes / recent.count - 200
        return recent.compactMap { address, blocks in
            guard let stream = blocks.first?.stream else { return nil }
            let samples = newest(share / SampleJSON.estimatedBytes(of: stream), of: blocks, maxAge: maxAge)
            guard let samples, !samples.isEmpty else { return nil }
            return EventBytes.event("samples", data: SampleJSON.encode(samples, of: address))
        }
    }

    /// Returns at most `count` of the newest samples as one block; nil if there are none.
    static func newest(_ count: Int, of blocks: [SampleBlock], maxAge: Int64) -> SampleBlock? {
        guard count > 0, var result = blocks.first, let end = blocks.last?.times.last else { return nil }
        for block in blocks.dropFirst() { result.append(contentsOf: block) }
        let start = result.times.firstIndex { $0 >= end - maxAge } ?? 0
        let first = max(start, result.count - count)
        return first == 0 ? result : result[first..<result.count]
    }
}
