import LockstepModel
import LockstepStore

/// What a store knows of rules, their events and notifications.
struct RuleLedger {
    /// The states of the rules, as JSON, by device id and rule.
    var states: [Int64: [String: String]] = [:]
    /// The times of samples, by device id and stream, that were evaluated and are not known to be stored.
    var evaluated: [Int64: [String: Set<Int64>]] = [:]
    /// The committed events, with device ids, whose own rows may not be stored yet.
    var openEvents: [(device: Int64, event: StoredEvent)] = []
    /// The committed transitions, by device id, whose own rows may not be stored yet.
    var openTransitions: [Int64: [LifecycleTransition]] = [:]
    /// The devices whose outcomes were written, but not checked for a later owner.
    var unchecked: Set<DeviceAddress> = []
    /// The event and way of each notification that is not finished.
    var deliveries: [DeliveryKey: (event: Int64, way: String)] = [:]
    /// The devices whose rows have states that no rule has any more.
    var outdated: Set<Int64> = []
    /// The number of the newest event.
    var lastNumber: Int64 = 0

    /// What identifies a notification.
    struct DeliveryKey: Hashable {
        let id: Int64
        let device: DeviceAddress?
    }

    /// Returns a number for an event that is higher than all earlier ones of this store.
    ///
    /// It is made of a time in ms and 11 bits of a hash of the event, so that two collectors seldom choose the same for
    /// events of different devices, and is exact in JavaScript. Several events of the same ms get the times that follow.
    mutating func nextNumber(for key: RuleEvent.Key, at now: Timestamp) -> Int64 {
        var hash = StableHash()
        hash.combine("\(key.rule) \(key.device.map { "\($0)" } ?? "") \(key.time.microseconds)")
        let low = Int64(hash.value & 2047)
        let number = max(0, now.microseconds / 1000) << 11 | low
        lastNumber = number > lastNumber ? number : (lastNumber >> 11 + 1) << 11 | low
        return lastNumber
    }

    /// Returns the number of a notification of an event.
    static func deliveryNumber(_ event: Int64, way index: Int) -> Int64 { event << 10 | Int64(index & 1023) }
}

extension StoredEvent {
    /// The notifications of a new event.
    var newDeliveries: [EventDelivery] {
        event.ways.enumerated().map { index, way in
            EventDelivery(
                id: RuleLedger.deliveryNumber(id, way: index), event: self, way: way, state: .pending, attempts: 0,
                due: event.at)
        }
    }
}
