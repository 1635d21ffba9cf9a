import LockstepModel
import LockstepRules
import LockstepStore

/// What the collector's loop knows of notifications that are not delivered yet.
struct Notifications {
    private(set) var rules = RuleSet()
    private(set) var hasRules = false
    /// Whether the notifications that earlier runs have left are still to be read.
    private(set) var needsEarlier = true
    /// Sends by all ways except MQTT; nil without rules.
    var notifier: Notifier?
    /// The start of the connection to the broker in µs of the boot clock, or nil without a connection.
    private(set) var listeningSince: Int64?
    /// The maximum number of published notifications that the broker has not acknowledged. After an outage, more would
    /// hold up other messages.
    static let maxInFlight = 100

    /// The notifications by MQTT that are not published yet.
    var unpublished: [EventDelivery] { Array(queue[next...]) }
    /// The notifications to publish, in their order.
    private var queue: [EventDelivery] = []
    /// The position in ``queue`` of the first notification that is not published.
    private var next = 0
    /// The notifications that the broker refused. They are published again when they are due.
    private var refused: [EventDelivery] = []
    /// The first and the last time at which one of ``refused`` is due.
    private var refusedDue: ClosedRange<Timestamp>?
    /// The actions on sessions that are not carried out yet.
    private var records: [EventDelivery] = []
    /// Those that the current transaction has carried out.
    private var uncommittedRecords: [EventDelivery] = []
    /// The published notifications that the broker has not acknowledged, by the id of the packet.
    private var inFlight: [Int32: EventDelivery] = [:]
    /// The results that are not in a group yet.
    private var results: [DeliveryUpdate] = []
    /// The results in groups that are not committed yet.
    private var uncommitted: [DeliveryUpdate] = []

    mutating func setRules(_ rules: RuleSet) {
        self.rules = rules
        hasRules = true
        notifier?.setWays(rules.ways)
    }

    /// Adds the notifications that earlier runs have left. Call it after the first rules were set.
    mutating func addEarlier(_ deliveries: [EventDelivery]) {
        needsEarlier = false
        add(deliveries)
    }

    mutating func add(_ deliveries: [EventDelivery], at now: Timestamp = Moment.now().wall) {
        for delivery in deliveries {
            switch rules.ways[delivery.way] {
            case .mqtt: if Self.isDue(delivery.due, at: now) { queue.append(delivery) } else { refuse(delivery) }
            case .record: records.append(delivery)
            default: notifier?.add(delivery)
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

    /// Takes the actions on sessions, in the order of their events, to carry them out in the current transaction. Their results
    /// are written by it, too: so each is carried out once.
    mutating func takeRecords() -> [(action: RecordAction, delivery: EventDelivery)] {
        let taken = records
        records = []
        return taken.compactMap { delivery in
            guard case .record(let action) = rules.ways[delivery.way] else {
                // The rules have changed.
                add([delivery])
                return nil
            }
            uncommittedRecords.append(delivery)
            return (action, delivery)
        }
    }

    mutating func didCommit() {
        uncommitted.removeAll()
        uncommittedRecords.removeAll()
    }

    mutating func rollBack() {
        records = uncommittedRecords + records
        uncommittedRecords.removeAll()
        results = uncommitted + results
        uncommitted.removeAll()
    }

    mutating func didConnect(at boot: Int64) { listeningSince = boot }

    mutating func didDisconnect() {
        listeningSince = nil
        queue = inFlight.values.sorted { $0.id < $1.id } + queue[next...]
        next = 0
        inFlight.removeAll()
    }

    /// Returns whether ``publish(at:_:)`` has something to do.
    func hasUnpublished(at now: Timestamp) -> Bool {
        inFlight.count < Self.maxInFlight && (next < queue.count || hasDueRefused(at: now))
    }

    private func hasDueRefused(at now: Timestamp) -> Bool {
        refusedDue.map { Self.isDue($0.lowerBound, at: now) || Self.isDue($0.upperBound, at: now) } ?? false
    }

    /// Publishes what waits for the broker.
    ///
    /// A notification that cannot be published is tried again later, so that it does not hold up the following ones.
    /// - Parameter publish: returns the id of the packet, or nil without a connection.
    mutating func publish(
        at now: Timestamp = Moment.now().wall, _ publish: (EventDelivery, _ isRetained: Bool) throws -> Int32?
    ) {
        if hasDueRefused(at: now) {
            let all = refused
            refused = []
            refusedDue = nil
            for delivery in all {
                if Self.isDue(delivery.due, at: now) { queue.append(delivery) } else { refuse(delivery) }
            }
        }
        defer { removePublished() }
        while next < queue.count, inFlight.count < Self.maxInFlight {
            let delivery = queue[next]
            guard case .mqtt(let isRetained) = rules.ways[delivery.way] else {
                // The rules have changed. The notifier knows the other ways.
                next += 1
                notifier?.add(delivery)
                continue
            }
            do {
                // A repeated one may be older than what was published meanwhile, and must not be retained in its place.
                guard let id = try publish(delivery, isRetained && delivery.attempts == 0) else { return }
                next += 1
                inFlight[id] = delivery
            } catch {
                next += 1
                fail(delivery, "\(error)", at: now)
            }
        }
    }

    /// Removes published notifications from the queue, but not for each of them, because that moves the others.
    private mutating func removePublished() {
        guard next > queue.count / 2 else { return }
        queue.removeFirst(next)
        next = 0
    }

    mutating func didPublish(id: Int32, refusal: String?, at now: Timestamp = Moment.now().wall) {
        guard let delivery = inFlight.removeValue(forKey: id) else { return }
        if let refusal { return fail(delivery, refusal, at: now) }
        results.append(
            DeliveryUpdate(of: delivery, state: .sent, attempts: delivery.attempts, due: now, error: nil))
    }

    /// Keeps a failed notification for its next attempt, unless it is too old.
    private mutating func fail(_ delivery: EventDelivery, _ error: String, at now: Timestamp) {
        let update = RetrySchedule.failure(delivery, error, isFinal: false, at: now)
        results.append(update)
        guard update.state == .pending else { return }
        var next = delivery
        next.attempts = update.attempts
        next.due = update.due
        refuse(next)
    }

    private mutating func refuse(_ delivery: EventDelivery) {
        refused.append(delivery)
        let due = refusedDue ?? delivery.due...delivery.due
        refusedDue = min(due.lowerBound, delivery.due)...max(due.upperBound, delivery.due)
    }

    /// A time that is further away than any delay shows that the clock was set.
    private static func isDue(_ due: Timestamp, at now: Timestamp) -> Bool {
        due <= now || due - now > RetrySchedule.longest
    }
}
