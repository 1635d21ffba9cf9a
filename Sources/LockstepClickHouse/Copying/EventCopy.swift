package import LockstepModel
package import LockstepStore

/// Copies events with their acknowledgements and notifications, a number of them at a time. Events get new numbers, in the
/// same order.
package struct EventCopy {
    /// The number of events that are read and inserted together.
    package static let maxEvents = 20_000

    private let target: CopyTarget
    private var ledger = RuleLedger()

    /// Creates a copy that begins with the oldest event.
    package init(_ target: CopyTarget) { self.target = target }

    /// Inserts the events that follow those of the previous call.
    /// - Parameter deliveries: the notifications of these events.
    /// - Returns: the number of events that the target did not have.
    @discardableResult
    package mutating func insert(_ events: [StoredEvent], _ deliveries: [EventDelivery]) throws(StoreError) -> Int {
        let addresses = Dictionary(
            events.compactMap(\.device).map { (DeviceRecord.id(of: $0), $0) }, uniquingKeysWith: { first, _ in first })
        var numbers = try EventRows(target.client) { addresses[$0] }.numbers(among: events.map(\.key))
        var used = try usedNumbers(events)
        let deliveries = Dictionary(grouping: deliveries.sorted { $0.id < $1.id }) { $0.event.id }
        var (eventRows, acknowledgements, deliveryRows) = (RowBinary(), RowBinary(), RowBinary())
        for event in events {
            let number: Int64
            if let known = numbers[event.key] {
                number = known
            } else {
                var next = ledger.nextNumber(for: event.key, at: event.at)
                while !used.insert(next).inserted { next = ledger.nextNumber(for: event.key, at: event.at) }
                number = next
                numbers[event.key] = number
                eventRows.append(
                    StoredEvent(id: number, event: event.event), of: event.device.map(DeviceRecord.id) ?? 0)
            }
            if let time = event.acknowledged {
                acknowledgements.append(number)
                acknowledgements.append(time.microseconds)
                acknowledgements.endRow()
            }
            for (index, delivery) in (deliveries[event.id] ?? []).enumerated() {
                // What a collector writes to this database later has a higher version.
                let version = 2 * UInt64(delivery.attempts) + (delivery.state == .pending ? 1 : 2)
                deliveryRows.append(
                    EventDelivery.row(
                        RuleLedger.deliveryNumber(number, way: index), (number, delivery.way), delivery.state,
                        attempts: delivery.attempts, due: delivery.due, error: delivery.error, version: version,
                        device: event.device))
            }
        }
        try target.store.insert(deliveryRows, into: "received_deliveries", ClickHouseSchema.deliveryColumns)
        try target.store.insert(acknowledgements, into: "received_acknowledgements", ["event_id", "at"])
        try target.store.insert(eventRows, into: "received_events", ClickHouseSchema.eventColumns)
        return eventRows.count
    }

    /// Returns the numbers of the target's events that new numbers of these events may collide with.
    private func usedNumbers(_ events: [StoredEvent]) throws(StoreError) -> Set<Int64> {
        let times = events.map { max(0, $0.at.microseconds / 1000) }
        guard let first = times.min(), let last = times.max() else { return [] }
        // Each event takes at most one number of a ms, unless it is used.
        let end = max(last, ledger.lastNumber >> 11) + Int64(2 * events.count)
        let ids = try target.client.binary(
            "SELECT DISTINCT event_id FROM received_events WHERE event_id >= \(first << 11) AND event_id <= \(end << 11)"
        ) { try $0.integer() }
        return Set(ids)
    }
}
