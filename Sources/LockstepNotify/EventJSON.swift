import LockstepModel
package import LockstepStore
import LockstepWire

/// The JSON of an event, in MQTT messages, webhooks and the HTTP API.
package enum EventJSON {
    /// Encodes an event.
    package static func encode(_ event: StoredEvent) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", event.id)
        object.member("rule", event.event.rule)
        object.member("device", orNull: event.event.device?.description)
        object.member("t", event.event.time.microseconds)
        object.member("at", event.event.at.microseconds)
        if let value = event.event.value, value.isFinite { object.member("value", value) }
        object.member("text", event.event.text)
        object.member("late", event.event.isLate)
        object.member("acknowledged", ifPresent: event.acknowledged?.microseconds)
        return object.finish()
    }
}
