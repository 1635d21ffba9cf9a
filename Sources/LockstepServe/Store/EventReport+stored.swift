import LockstepStore
import LockstepWire

extension EventReport {
    /// Creates the report of a stored event.
    init(_ stored: StoredEvent) {
        let event = stored.event
        self.init(
            id: stored.id, key: Key(rule: event.rule, device: event.device, time: event.time), at: event.at,
            value: event.value, text: event.text, isLate: event.isLate, acknowledged: stored.acknowledged)
    }
}
