import LockstepModel

/// Distributes changes of states to subscribers, and keeps the last changes for subscribers that return.
struct StateHub {
    /// The part of an id before the number. It differs in each run of the program, so that an id of an earlier run is not
    /// mistaken for one of this run.
    let instance: String
    private let capacity: Int
    /// The last changes as events, from the oldest.
    private var changes = RingQueue<[UInt8]>()
    /// The number of the last change.
    private(set) var last: Int64 = 0
    private var subscribers: [Int: Subscriber] = [:]

    init(instance: String, capacity: Int) {
        self.instance = instance
        self.capacity = capacity
    }

    /// Adds a change to the queues of all subscribers.
    /// - Parameter touched: receives the subscribers to notify.
    mutating func add(_ transition: LifecycleTransition, of address: DeviceAddress, touched: inout [Subscriber]) {
        last += 1
        let data = StateChangeJSON.encode(transition, of: address, isSnapshot: false)
        let event = EventBytes.event("state", id: "\(instance)-\(last)", data: data)
        changes.append(event)
        if changes.count > capacity { _ = changes.removeFirst() }
        for subscriber in subscribers.values where subscriber.add(event) { touched.append(subscriber) }
    }

    /// Adds a subscriber.
    mutating func add(_ subscriber: Subscriber) { subscribers[subscriber.id] = subscriber }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) { subscribers[id] = nil }

    /// Returns the changes after an event that a subscriber has received, or nil if it needs a snapshot.
    /// - Parameter id: the id of the event.
    func changes(after id: String?) -> [[UInt8]]? {
        guard let id, let dash = id.lastIndex(of: "-"), id[..<dash] == instance,
            let number = Int64(id[id.index(after: dash)...]), number >= 0, number <= last,
            last - number <= Int64(changes.count)
        else { return nil }
        return (changes.count - Int(last - number)..<changes.count).map { changes[$0] }
    }

    /// Returns the present state of each device. These events have no id: a subscriber that has received only a part of
    /// them cannot resume.
    func snapshot(of devices: LiveDevices) -> [[UInt8]] {
        devices.devices.compactMap { device in
            device.transition.map {
                EventBytes.event("state", data: StateChangeJSON.encode($0, of: device.address, isSnapshot: true))
            }
        }
    }

    /// The event after a snapshot or missed changes. Its id is that of the last change.
    var ready: [UInt8] { EventBytes.event("ready", id: "\(instance)-\(last)", data: Array("{}".utf8)) }
}
