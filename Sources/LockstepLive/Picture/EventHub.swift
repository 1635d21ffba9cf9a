import LockstepModel
import LockstepWire

/// Keeps the last events of rules, and distributes new and acknowledged ones to subscribers.
struct EventHub {
    private var log: ChangeLog
    private let capacity: Int
    /// The last events, in no order.
    private var events: [EventReport.Key: EventReport] = [:]
    private var subscribers: [Int: Subscriber] = [:]

    /// - Parameter capacity: the maximum number of events.
    init(instance: String, capacity: Int) {
        log = ChangeLog(instance: instance, capacity: capacity)
        self.capacity = capacity
    }

    /// The last events, oldest first.
    var recent: [EventReport] { events.values.sorted(by: Self.precedes) }

    /// Adds an event. The same event again is ignored, unless it is now acknowledged.
    /// - Parameter touched: receives the subscribers to notify.
    mutating func add(_ event: EventReport, touched: inout [Subscriber]) {
        if let known = events[event.key] {
            if let time = event.acknowledged, known.acknowledged == nil {
                acknowledge(event.key, at: time, touched: &touched)
            }
            return
        }
        if events.count >= capacity {
            guard let oldest = events.values.min(by: Self.precedes), Self.precedes(oldest, event) else { return }
            events[oldest.key] = nil
        }
        events[event.key] = event
        distribute(event, touched: &touched)
    }

    private static func precedes(_ left: EventReport, _ right: EventReport) -> Bool {
        (left.at, left.id) < (right.at, right.id)
    }

    /// Records that an event is acknowledged.
    mutating func acknowledge(_ key: EventReport.Key, at time: Timestamp, touched: inout [Subscriber]) {
        guard var event = events[key], event.acknowledged == nil else { return }
        event.acknowledged = time
        events[key] = event
        distribute(event, touched: &touched)
    }

    private mutating func distribute(_ event: EventReport, touched: inout [Subscriber]) {
        let bytes = log.add("event", EventJSON.encode(event))
        for subscriber in subscribers.values where subscriber.add(bytes) { touched.append(subscriber) }
    }

    /// Adds a subscriber.
    mutating func add(_ subscriber: Subscriber) { subscribers[subscriber.id] = subscriber }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) { subscribers[id] = nil }

    /// Returns the first events of a subscriber: what has changed after an event that it has received, or else the last
    /// events. These have no id: a subscriber that has received only a part of them cannot resume.
    func prologue(after id: String?) -> [[UInt8]] {
        (log.changes(after: id) ?? recent.map { EventBytes.event("event", data: EventJSON.encode($0)) }) + [log.ready]
    }
}
