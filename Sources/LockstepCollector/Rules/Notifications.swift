import LockstepModel
import LockstepNotify
import LockstepRules
import LockstepStore

/// What the collector's loop knows of notifications that are not delivered yet.
struct Notifications {
    var rules = RuleSet()
    /// Sends by all ways except MQTT; nil without rules.
    var notifier: Notifier?
    /// The start of the connection to the broker in µs of the boot clock, or nil without a connection.
    private(set) var listeningSince: Int64?
    /// The time of the next check whether rules need a tick, in µs of the boot clock.
    var nextTick: Int64 = 0
    /// The notifications by MQTT that are not published yet.
    private(set) var unpublished: [EventDelivery] = []
    /// The published notifications that the broker has not acknowledged, by the id of the packet.
    private var inFlight: [Int32: EventDelivery] = [:]
    /// The results that are not in a group yet.
    private var results: [DeliveryUpdate] = []
    /// The results in groups that are not committed yet.
    private var uncommitted: [DeliveryUpdate] = []

    /// Adds notifications of the store.
    mutating func add(_ deliveries: [EventDelivery]) {
        for delivery in deliveries {
            if case .mqtt = rules.ways[delivery.way] {
                unpublished.append(delivery)
            } else {
                notifier?.add(delivery)
            }
        }
    }

    mutating func add(_ updates: [DeliveryUpdate]) { results += updates }

    /// Returns the results to write with the next group.
    mutating func takeResults() -> [DeliveryUpdate] {
        defer { results.removeAll() }
        uncommitted += results
        return results
    }

    mutating func didCommit() { uncommitted.removeAll() }

    mutating func rollBack() {
        results = uncommitted + results
        uncommitted.removeAll()
    }

    mutating func didConnect(at boot: Int64) { listeningSince = boot }

    mutating func didDisconnect() {
        listeningSince = nil
        unpublished = inFlight.values.sorted { $0.id < $1.id } + unpublished
        inFlight.removeAll()
    }

    /// Publishes what waits for the broker.
    /// - Parameter publish: returns the id of the packet, or nil without a connection.
    mutating func publish(_ publish: (EventDelivery, _ isRetained: Bool) -> Int32?) {
        var rest: [EventDelivery] = []
        for delivery in unpublished {
            guard case .mqtt(let isRetained) = rules.ways[delivery.way], rest.isEmpty,
                let id = publish(delivery, isRetained)
            else {
                rest.append(delivery)
                continue
            }
            inFlight[id] = delivery
        }
        unpublished = rest
    }

    mutating func didPublish(id: Int32, refusal: String?) {
        guard let delivery = inFlight.removeValue(forKey: id) else { return }
        let now = Moment.now().wall
        results.append(
            DeliveryUpdate(
                id: delivery.id, state: refusal == nil ? .sent : .dead, attempts: delivery.attempts, due: now,
                error: refusal))
    }
}
