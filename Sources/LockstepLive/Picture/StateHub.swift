import LockstepModel

/// Distributes changes of states to subscribers, and keeps the last changes for subscribers that return.
struct StateHub {
    private var log: ChangeLog
    private var subscribers: [Int: Subscriber] = [:]

    init(instance: String, capacity: Int) { log = ChangeLog(instance: instance, capacity: capacity) }

    /// Adds a change to the queues of all subscribers.
    /// - Parameter touched: receives the subscribers to notify.
    mutating func add(_ transition: LifecycleTransition, of address: DeviceAddress, touched: inout [Subscriber]) {
        let event = log.add("state", StateChangeJSON.encode(transition, of: address, isSnapshot: false))
        for subscriber in subscribers.values where subscriber.add(event) { touched.append(subscriber) }
    }

    /// Adds a subscriber.
    mutating func add(_ subscriber: Subscriber) { subscribers[subscriber.id] = subscriber }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) { subscribers[id] = nil }

    /// Returns the first events of a subscriber: the changes after an event that it has received, or else the present
    /// state of each device. These have no id: a subscriber that has received only a part of them cannot resume.
    /// - Parameter id: the id of the event.
    func prologue(after id: String?, devices: LiveDevices) -> Prologue {
        let changes = log.changes(after: id)
        return Prologue(changes: changes, devices: changes == nil ? devices.devices : [], ready: log.ready)
    }

    /// The first events of a subscriber. They are encoded without the lock of the picture, from a copy that shares its
    /// memory.
    struct Prologue: Sendable {
        fileprivate let changes: [[UInt8]]?
        fileprivate let devices: [LiveDevice]
        fileprivate let ready: [UInt8]

        /// Encodes the events.
        func events() -> [[UInt8]] {
            let snapshot = devices.compactMap { device in
                device.transition.map {
                    EventBytes.event("state", data: StateChangeJSON.encode($0, of: device.address, isSnapshot: true))
                }
            }
            return (changes ?? snapshot) + [ready]
        }
    }
}
