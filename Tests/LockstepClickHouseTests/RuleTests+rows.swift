import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

// What the rows about rules, events and notifications hold.
extension RuleTests {
    @Test("notifications of two devices with the same number are sent separately")
    func sameNumber() async throws {
        try await withClickHouse { server in
            let store = try open(server)
            let devices = [device("left"), device("right")]
            for device in devices { try store.write(quiet(device)) }
            func event(_ number: Int64, _ rule: String, _ device: DeviceAddress) throws -> StoredEvent {
                let key = RuleEvent.Key(rule: rule, device: device, time: Timestamp(microseconds: number))
                let event = StoredEvent(
                    id: number,
                    event: RuleEvent(
                        key: key, at: Timestamp(microseconds: 5), value: nil, text: "", isLate: false, ways: ["bus"]))
                var rows = RowBinary()
                rows.append(event, of: DeviceRecord.id(of: device))
                try store.insert(rows, into: "received_events", ClickHouseSchema.eventColumns)
                return event
            }
            // Two collectors have numbered events at the same time.
            for device in devices {
                let event = try event(3, "high", device)
                store.ledger.openEvents = [(DeviceRecord.id(of: device), event)]
                try store.insertOpenEvents()
            }
            store.ledger.openEvents = []
            let pending = try store.pendingDeliveries()
            #expect(pending.map(\.event.id) == [3, 3])
            #expect(Set(pending.map { "\($0.event.device?.description ?? "") \($0.event.rule)" }).count == 2)
            var group = IngestGroup()
            group.deliveries = pending.filter { $0.event.device == devices[0] }.map {
                DeliveryUpdate(of: $0, state: .sent, attempts: 0, due: Timestamp(microseconds: 6), error: nil)
            }
            try store.write(group)
            for _ in 0..<2 {
                let rest = try open(server).pendingDeliveries()
                #expect(rest.map(\.event.id) == [3] && rest.allSatisfy { $0.event.device == devices[1] })
                try await server.execute("OPTIMIZE TABLE received_deliveries FINAL")
            }
            let id = DeviceRecord.id(of: devices[1])
            #expect(
                try await server.execute(
                    "SELECT event_id, state FROM deliveries WHERE device_id = \(id) ORDER BY event_id")
                    == ["3\tpending"])
        }
    }

    @Test("states of rules that were edited or removed disappear from the rows, and those of the others stay")
    func outdatedStates() async throws {
        try await withClickHouse { server in
            let (left, right) = (device("left"), device("right"))
            let store = try open(server)
            for device in [left, right] {
                for number in 0..<2 { try store.write(group(number, of: device)) }
            }
            let before = Set(store.observerStates().map { $0.rule.split(separator: " ")[0] })
            #expect(before.isSuperset(of: ["high", "held", "walked"]))
            let edited = Self.rules.replacing("above: 10, for: 2s", with: "above: 9, for: 2s")
                .replacing("high: {when: {value: pressure.pressure, above: 10}, to: [bus, desk]}", with: "")
            try observe(store, edited)
            // Nothing changes a state of these devices.
            try store.write(quiet(device("other")))
            for device in [left, right] {
                let states = try open(server).observerStates().filter { $0.device == device }
                #expect(!states.isEmpty)
                #expect(!states.contains { $0.rule.hasPrefix("high ") || $0.rule.hasPrefix("held ") }, "\(states)")
            }
            // The states that are left still count: what was walked is not counted again.
            let walked = store.observerStates().filter { $0.rule.hasPrefix("walked ") }
            #expect(walked.count == 2)
            // Also after a takeover, without a new observer.
            try observe(store)
            try store.write(group(2, of: left))
            let edit = try open(server)
            try observe(edit, edited)
            try edit.takeOver(FencingToken(rawValue: 2_000_000_000)) { _ in true }
            try edit.write(quiet(device("another")))
            let states = try open(server).observerStates()
            #expect(!states.isEmpty && !states.contains { $0.rule.hasPrefix("high ") }, "\(states)")
        }
    }

    @Test("a late first row about a device that an owner knows only since is not adopted by the next one")
    func lateFirstRow() async throws {
        try await withClickHouse { server in
            let right = device("right")
            let first = try open(server)
            try first.takeOver(FencingToken(rawValue: 2_000_000_000)) { _ in true }
            try observe(first)
            let second = try open(server, recovers: false)
            try second.takeOver(FencingToken(rawValue: 2_000_000_001)) { _ in true }
            try observe(second)
            // Nothing about rules follows from it.
            try second.write(quiet(right))
            #expect(throws: StoreError.self) { try first.write(group(1, of: right)) }
            let third = try open(server, recovers: false)
            try third.takeOver(FencingToken(rawValue: 2_000_000_002)) { _ in true }
            #expect(third.observerStates().filter { $0.device == right }.isEmpty)
            #expect(try await server.execute("SELECT count() FROM events") == ["0"])
            #expect(third.lifecycles()[right]?.last == nil)
        }
    }

    @Test("events of a group are only those of its devices")
    func eventsOfGroup() async throws {
        try await withClickHouse { server in
            let store = try open(server)
            for group in ["lab", "hall"] { try store.write(self.group(1, of: device("left", in: group))) }
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            func events(_ group: String?) throws -> [StoredEvent] {
                try reader.events(
                    of: nil, group: group.map(GroupID.init(unchecked:)), rule: nil, from: nil, to: nil, after: 0,
                    before: .max, limit: .max, cancellation: nil)
            }
            let all = try events(nil)
            #expect(Set(all.map(\.device?.group.rawValue)) == ["lab", "hall"])
            for group in ["lab", "hall"] {
                #expect(try events(group) == all.filter { $0.device?.group.rawValue == group })
            }
            #expect(try events("none").isEmpty)
        }
    }
}
