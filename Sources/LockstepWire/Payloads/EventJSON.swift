public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of an event of a rule, in MQTT messages, webhooks and the HTTP API: `{"id":7,"rule":"hot",
/// "device":"lab/left","t":1700000000000000,"at":1700000000100000,"value":31.5,"text":"…","late":false,
/// "severity":"warning"}`.
///
/// An event that a person has acknowledged also has `acknowledged`.
public enum EventJSON {
    /// Encodes an event.
    public static func encode(_ event: StoredEvent) -> [UInt8] {
        var object = JSONObjectWriter()
        write(event, into: &object)
        return object.finish()
    }

    /// Appends the members of an event to an object.
    package static func write(_ event: StoredEvent, into object: inout JSONObjectWriter) {
        object.member("id", event.id)
        object.member("rule", event.key.rule)
        object.member("device", orNull: event.key.device?.description)
        object.member("t", event.key.time.microseconds)
        object.member("at", event.at.microseconds)
        if let value = event.value, value.isFinite { object.member("value", value) }
        object.member("text", event.text)
        object.member("late", event.isLate)
        object.member("severity", event.severity.rawValue)
        object.member("acknowledged", ifPresent: event.acknowledged?.microseconds)
    }

    /// Decodes an event.
    /// - Parameter device: the device of the topic, or nil for a topic of a collector.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data, of device: DeviceAddress?) throws(PayloadError) -> StoredEvent {
        let object = try JSONMembers(payload)
        let event = StoredEvent(
            id: try object.required("id"),
            event: RuleEvent(
                key: try key(object, of: device), at: try object.required("at"), value: try object.optional("value"),
                text: try object.required("text"), isLate: try object.optional("late") ?? false,
                severity: try object.optional("severity").flatMap(Severity.init) ?? .warning),
            acknowledged: try object.optional("acknowledged"))
        try check(id: event.id, ("t", event.key.time), ("at", event.at), ("acknowledged", event.acknowledged))
        return event
    }

    fileprivate static func key(
        _ object: JSONMembers, of device: DeviceAddress?
    ) throws(PayloadError) -> RuleEvent.Key {
        RuleEvent.Key(rule: try object.required("rule"), device: device, time: try object.required("t"))
    }

    /// Rejects numbers that a JavaScript number does not represent exactly, and negative times.
    fileprivate static func check(id: Int64, _ times: (name: String, value: Timestamp?)...) throws(PayloadError) {
        guard (1..<1 << 53).contains(id) else {
            throw PayloadError("'id' is \(id): it must be a number from 1 to 2^53 - 1")
        }
        for (name, value) in times {
            guard let value, !(0..<1 << 53).contains(value.microseconds) else { continue }
            throw PayloadError("'\(name)' is \(value.microseconds): it must be a time in µs since 1970")
        }
    }
}

/// The JSON encoding of a person's acknowledgement of an event. A request is `{"rule":"hot","t":1700000000000000}`; a
/// collector that has stored it confirms it with `id` and `acknowledged`, the time of the first acknowledgement.
public enum EventAcknowledgementJSON {
    /// Encodes a request. The device is part of the topic.
    public static func encode(_ key: RuleEvent.Key) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("rule", key.rule)
        object.member("t", key.time.microseconds)
        return object.finish()
    }

    /// Encodes a confirmation. The device is part of the topic.
    public static func encode(_ confirmation: StoredAcknowledgement) -> [UInt8] {
        encode(confirmation, includesDevice: false)
    }

    /// Encodes a confirmation.
    /// - Parameter includesDevice: whether `device` is a member. A message has it in its topic.
    package static func encode(_ confirmation: StoredAcknowledgement, includesDevice: Bool) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", confirmation.id)
        object.member("rule", confirmation.key.rule)
        if includesDevice { object.member("device", orNull: confirmation.key.device?.description) }
        object.member("t", confirmation.key.time.microseconds)
        object.member("acknowledged", confirmation.acknowledged.microseconds)
        return object.finish()
    }

    /// Decodes a request.
    /// - Parameter device: the device of the topic, or nil for a topic of a collector.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decodeRequest(
        _ payload: Data, of device: DeviceAddress?
    ) throws(PayloadError) -> RuleEvent.Key {
        try EventJSON.key(JSONMembers(payload), of: device)
    }

    /// Decodes a confirmation.
    /// - Parameter device: the device of the topic, or nil for a topic of a collector.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decodeConfirmation(
        _ payload: Data, of device: DeviceAddress?
    ) throws(PayloadError) -> StoredAcknowledgement {
        let object = try JSONMembers(payload)
        let confirmation = StoredAcknowledgement(
            id: try object.required("id"), key: try EventJSON.key(object, of: device),
            acknowledged: try object.required("acknowledged"))
        try EventJSON.check(
            id: confirmation.id, ("t", confirmation.key.time), ("acknowledged", confirmation.acknowledged))
        return confirmation
    }
}
