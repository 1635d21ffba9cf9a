import LockstepModel
import LockstepWire

/// Decides which subscribers receive devices, and which: first all, then periodically those that have changed.
///
/// A subscriber that is slow does not receive intermediate values: while an event waits for it, no other is added, and the
/// next one contains all changes since.
struct DeviceHub {
    private struct Member {
        let subscriber: Subscriber
        let group: GroupID?
        /// The time between events, in µs.
        let interval: Int64
        /// The last change that the subscriber has received.
        var revision: UInt64
        /// The time of the next event, in µs of the boot clock.
        var dueAt: Int64
    }

    private var members: [Int: Member] = [:]

    /// Whether there are no subscribers.
    var isEmpty: Bool { members.isEmpty }

    /// Adds a subscriber that has received all changes up to a revision.
    mutating func add(
        _ subscriber: Subscriber, group: GroupID?, interval: Int64, revision: UInt64, at moment: Moment
    ) {
        members[subscriber.id] = Member(
            subscriber: subscriber, group: group, interval: interval, revision: revision,
            dueAt: moment.boot + interval)
    }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) { members[id] = nil }

    /// Returns what subscribers must receive now: those that are due and have received the event before.
    mutating func takeDue(_ devices: LiveDevices, at moment: Moment) -> DeviceDeliveries? {
        var subscribers: [DeviceContent: [Subscriber]] = [:]
        for (id, member) in members where moment.boot >= member.dueAt {
            // Keep the rhythm, except after a pause.
            members[id]?.dueAt = max(member.dueAt + member.interval, moment.boot + member.interval / 2)
            guard member.subscriber.isIdle else { continue }
            subscribers[DeviceContent(group: member.group, revision: member.revision), default: []].append(
                member.subscriber)
            members[id]?.revision = devices.revision
        }
        return subscribers.isEmpty ? nil : DeviceDeliveries(devices: devices, subscribers: subscribers, moment: moment)
    }
}

/// The content of an event: the devices of a group that changed after a revision.
struct DeviceContent: Hashable {
    let group: GroupID?
    let revision: UInt64
}

/// Devices for the subscribers that are due. They are encoded and delivered without the lock of the picture, from a copy
/// that shares its memory.
struct DeviceDeliveries {
    let devices: LiveDevices
    let subscribers: [DeviceContent: [Subscriber]]
    let moment: Moment

    /// Adds the events to the queues of the subscribers. Each device is encoded once.
    /// - Parameter touched: receives the subscribers to notify.
    func deliver(touched: inout [Subscriber]) {
        var texts: [Int: [UInt8]] = [:]
        for (content, subscribers) in subscribers {
            let event = Self.event(content, devices, moment, &texts)
            guard !event.isEmpty else { continue }
            for subscriber in subscribers where subscriber.add(event) { touched.append(subscriber) }
        }
    }

    /// Returns an event, or nothing if no device has changed.
    /// - Parameter texts: the JSON of devices that were encoded for this moment.
    static func event(
        _ content: DeviceContent, _ devices: LiveDevices, _ moment: Moment, _ texts: inout [Int: [UInt8]]
    ) -> [UInt8] {
        var list: [UInt8] = []
        var forgotten: [UInt8] = []
        for (index, device) in devices.entries.enumerated()
        where device.revision > content.revision && content.group ?? device.address.group == device.address.group {
            if device.isForgotten {
                // A subscriber that receives all devices does not know it.
                guard content.revision > 0 else { continue }
                if !forgotten.isEmpty { forgotten.append(UInt8(ascii: ",")) }
                forgotten += devices.forgottenJSON(of: device)
                continue
            }
            let text = texts[index] ?? devices.json(of: device, at: moment.boot)
            texts[index] = text
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            list += text
        }
        if list.isEmpty, forgotten.isEmpty, content.revision > 0 { return [] }
        return EventBytes.event("devices", data: json(list, forgotten: forgotten, at: moment.wall))
    }

    /// Returns an object with a list of devices, and one of forgotten devices if there are any.
    /// - Parameters:
    ///   - list: the devices as JSON, separated by commas.
    ///   - forgotten: the addresses of the forgotten devices as JSON, separated by commas.
    static func json(_ list: [UInt8], forgotten: [UInt8] = [], at time: Timestamp) -> [UInt8] {
        let devices = Array("{\"at\":\(time.microseconds),\"devices\":[".utf8) + list + "]".utf8
        return devices + (forgotten.isEmpty ? [] : Array(",\"forgotten\":[".utf8) + forgotten + "]".utf8) + "}".utf8
    }
}

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

/// The last changes as server-sent events, with ids from which a subscriber that returns can continue.
struct ChangeLog {
    /// The part of an id before the number. It differs in each run of the program, so that an id of an earlier run is not
    /// mistaken for one of this run.
    let instance: String
    private let capacity: Int
    /// The last changes, from the oldest.
    private var changes = RingQueue<[UInt8]>()
    private(set) var last: Int64 = 0

    init(instance: String, capacity: Int) {
        self.instance = instance
        self.capacity = capacity
    }

    /// Adds a change, and returns it as an event.
    /// - Parameter data: JSON.
    mutating func add(_ name: String, _ data: [UInt8]) -> [UInt8] {
        last += 1
        let event = EventBytes.event(name, id: "\(instance)-\(last)", data: data)
        changes.append(event)
        if changes.count > capacity { _ = changes.removeFirst() }
        return event
    }

    /// Returns the changes after an event that a subscriber has received, or nil if it needs a snapshot.
    /// - Parameter id: the id of the event.
    func changes(after id: String?) -> [[UInt8]]? {
        guard let id, let dash = id.lastIndex(of: "-"), id[..<dash] == instance,
            let number = Int64(id[id.index(after: dash)...]), number >= 0, number <= last,
            last - number <= Int64(changes.count)
        else { return nil }
        return (changes.count - Int(last - number)..<changes.count).map { changes[$0] }
    }

    /// The event after a snapshot or missed changes. Its id is that of the last change.
    var ready: [UInt8] { EventBytes.event("ready", id: "\(instance)-\(last)", data: Array("{}".utf8)) }
}
