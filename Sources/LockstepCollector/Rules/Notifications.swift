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
    /// Whether the rules have to be read again after the current transaction.
    var reloadsRules = false
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
    ///
    /// A notification that cannot be published is given up, so that it does not hold up the following ones.
    /// - Parameter publish: returns the id of the packet, or nil without a connection.
    mutating func publish(_ publish: (EventDelivery, _ isRetained: Bool) throws -> Int32?) {
        let waiting = unpublished
        unpublished = []
        for (index, delivery) in waiting.enumerated() {
            guard case .mqtt(let isRetained) = rules.ways[delivery.way] else {
                // The rules have changed. The notifier knows the other ways.
                notifier?.add(delivery)
                continue
            }
            do {
                guard let id = try publish(delivery, isRetained) else {
                    unpublished += waiting[index...]
                    return
                }
                inFlight[id] = delivery
            } catch {
                results.append(Self.result(of: delivery, error: "\(error)"))
            }
        }
    }

    mutating func didPublish(id: Int32, refusal: String?) {
        guard let delivery = inFlight.removeValue(forKey: id) else { return }
        results.append(Self.result(of: delivery, error: refusal))
    }

    private static func result(of delivery: EventDelivery, error: String?) -> DeliveryUpdate {
        DeliveryUpdate(
            id: delivery.id, state: error == nil ? .sent : .dead, attempts: delivery.attempts, due: Moment.now().wall,
            error: error)
    }
}
