import LockstepHTTP
import LockstepModel
import LockstepStore
import LockstepWire

/// A checked query of events of rules.
struct EventFilter: Hashable, Sendable {
    /// The names of the parameters.
    static let parameters = countParameters + ["limit", "before"]
    /// The names of the parameters that select the events of a count.
    static let countParameters = ["from", "to", "group", "device", "rule", "severity"]

    private static let maxEvents = 10_000

    let from: Timestamp?
    let to: Timestamp?
    let limit: Int
    /// Only events before the one with this number.
    let before: Int64
    let group: GroupID?
    let device: DeviceAddress?
    let rule: String?
    let severity: Severity?

    /// Reads the parameters.
    /// - Throws: ``Problem`` for an invalid parameter.
    init(_ call: APICall, now: Timestamp) throws(Problem) {
        from = try call.query.time("from", now: now)
        to = try call.query.time("to", now: now)
        if let from, let to, from > to { throw .badRequest("'from' is later than 'to': swap them") }
        limit = try call.query.number("limit", in: 1...Self.maxEvents) ?? 1000
        before = Int64(try call.query.number("before", in: 1...Self.maxNumber) ?? .max)
        group = try call.group()
        device = try call.query.value("device") { try DeviceAddress.parse($0) }
        rule = call.query.all("rule").first
        severity = try call.query.value("severity") { text in
            guard let severity = Severity(rawValue: text) else {
                throw Problem.badRequest("severity: '\(text.prefix(80))' is not one of info, warning, critical")
            }
            return severity
        }
    }

    /// The highest number of an event that a JavaScript number represents exactly.
    static let maxNumber = 9_007_199_254_740_991

    /// Returns the events of a store, newest first. There is one more than the limit if there are more.
    func events(in reader: StoreReader, _ cancellation: QueryCancellation) throws -> [StoredEvent] {
        if let group, let device, device.group != group { return [] }
        return try reader.events(
            of: device, group: group, rule: rule, severity: severity, from: from, to: to, after: 0, before: before,
            limit: limit + 1, cancellation: cancellation
        ).reversed()
    }

    /// The number of events that a filter selects, and of those that nobody has acknowledged.
    typealias Counts = (all: Int, open: Int)

    /// Counts the events of a store.
    func counts(in reader: StoreReader, _ cancellation: QueryCancellation) throws -> Counts {
        if let group, let device, device.group != group { return (0, 0) }
        return try reader.eventCounts(
            of: device, group: group, rule: rule, severity: severity, from: from, to: to, cancellation: cancellation)
    }

    /// Returns the document `{"events":…,"open":…}`.
    func json(of counts: Counts) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("events", Int64(counts.all))
        object.member("open", Int64(counts.open))
        return object.finish()
    }

    /// Returns the document `{"events":[…],"next":…}`. `next` is the parameter `before` of the next events, or null.
    func json(of found: [StoredEvent]) -> [UInt8] {
        let events = found.prefix(limit)
        var object = JSONObjectWriter(reservingCapacity: 256 * events.count + 32)
        object.member("events", events) { writer, event in writer.object { EventJSON.write(event, into: &$0) } }
        object.member("next", orNull: found.count > limit ? events.last?.id : nil)
        return object.finish()
    }
}

extension DeviceAddress {
    /// Parses `GROUP/DEVICE`.
    /// - Parameter alternative: what the parameter may also be, for the error.
    /// - Throws: ``Problem`` for any other text.
    static func parse(_ text: String, or alternative: String = "") throws(Problem) -> DeviceAddress {
        guard let address = DeviceAddress(text) else {
            throw .badRequest("device: '\(text.prefix(80))' is not a device: use GROUP/DEVICE\(alternative)")
        }
        return address
    }
}
