import LockstepModel
import LockstepWire

/// Distributes devices to subscribers: first all, then periodically those that have changed.
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

    /// The content of an event: the devices of a group that changed after a revision.
    private struct Content: Hashable {
        let group: GroupID?
        let revision: UInt64
    }

    private var members: [Int: Member] = [:]
    /// The snapshot of the current moment, for subscribers that arrive together.
    private var snapshot: (content: Content, at: Int64, revision: UInt64, event: [UInt8])?

    /// The time for which a snapshot is reused, in µs.
    private static let snapshotAge: Int64 = 1_000_000

    /// Whether there are no subscribers.
    var isEmpty: Bool { members.isEmpty }

    /// Adds a subscriber.
    /// - Returns: the event with all devices.
    mutating func add(
        _ subscriber: Subscriber, group: GroupID?, interval: Int64, devices: LiveDevices, at moment: Moment
    ) -> [UInt8] {
        let content = Content(group: group, revision: 0)
        if snapshot?.content != content || moment.boot - (snapshot?.at ?? 0) > Self.snapshotAge {
            snapshot = (content, moment.boot, devices.revision, event(content, devices, moment))
        }
        members[subscriber.id] = Member(
            subscriber: subscriber, group: group, interval: interval, revision: snapshot?.revision ?? 0,
            dueAt: moment.boot + interval)
        return snapshot?.event ?? []
    }

    /// Removes a subscriber, if it is one of this hub.
    mutating func remove(_ id: Int) {
        members[id] = nil
        if members.isEmpty { snapshot = nil }
    }

    /// Adds an event for each subscriber that is due and has received the event before.
    /// - Parameter touched: receives the subscribers to notify.
    mutating func advance(_ devices: LiveDevices, to moment: Moment, touched: inout [Subscriber]) {
        var events: [Content: [UInt8]] = [:]
        var texts: [Int: [UInt8]] = [:]
        for (id, member) in members where moment.boot >= member.dueAt {
            // Keep the rhythm, except after a pause.
            members[id]?.dueAt = max(member.dueAt + member.interval, moment.boot + member.interval / 2)
            guard member.subscriber.isIdle else { continue }
            let content = Content(group: member.group, revision: member.revision)
            if events[content] == nil { events[content] = event(content, devices, moment, &texts) }
            members[id]?.revision = devices.revision
            if let event = events[content], !event.isEmpty, member.subscriber.add(event) {
                touched.append(member.subscriber)
            }
        }
    }

    private func event(_ content: Content, _ devices: LiveDevices, _ moment: Moment) -> [UInt8] {
        var texts: [Int: [UInt8]] = [:]
        return event(content, devices, moment, &texts)
    }

    /// Returns an event, or nothing if no device has changed.
    /// - Parameter texts: the JSON of devices that were encoded for this moment.
    private func event(
        _ content: Content, _ devices: LiveDevices, _ moment: Moment, _ texts: inout [Int: [UInt8]]
    ) -> [UInt8] {
        var list: [UInt8] = []
        for (index, device) in devices.devices.enumerated()
        where device.revision > content.revision && content.group ?? device.address.group == device.address.group {
            let text = texts[index] ?? devices.json(of: device, at: moment.boot)
            texts[index] = text
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            list += text
        }
        if list.isEmpty, content.revision > 0 { return [] }
        return EventBytes.event("devices", data: DeviceHub.json(list, at: moment.wall))
    }

    /// Returns an object with a list of devices.
    /// - Parameter list: the devices as JSON, separated by commas.
    static func json(_ list: [UInt8], at time: Timestamp) -> [UInt8] {
        Array("{\"at\":\(time.microseconds),\"devices\":[".utf8) + list + "]}".utf8
    }
}
