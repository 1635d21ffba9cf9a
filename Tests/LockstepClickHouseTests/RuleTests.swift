import LockstepCommandLine
import LockstepModel
import LockstepRules
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse
@testable import LockstepCollector

@Suite(
    "Rules with a ClickHouse store", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct RuleTests {
    static let rules = """
        targets: {bus: {mqtt: event}, desk: {webhook: "http://127.0.0.1:9/"}}
        rules:
          high: {when: {value: pressure.pressure, above: 10}, to: [bus, desk]}
          held: {when: {value: pressure.pressure, above: 10, for: 2s}}
          walked: {when: {steps: 30}, to: bus}
          away: {when: {state: [background]}, to: bus}
        """

    /// What a run has left in a store.
    private struct Result: Equatable {
        var events: [String] = []
        var states: [String] = []
        var deliveries: [String] = []
    }

    @Test(
        "after a failure at any insert, each event is stored once and the states are those of an SQLite store",
        arguments: [true, false])
    func failures(restarts: Bool) async throws {
        let left = device("left")
        let expected = try await withTemporaryFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            try observe(store)
            for number in 0..<4 { try store.write(group(number, of: left)) }
            let reader = try StoreReader(path: folder + "/store.db")
            return result(try reader.events(), try store.observerStates(), try store.pendingDeliveries(), of: left)
        }
        #expect(expected.events.count == 7 && expected.deliveries.count == 10, "\(expected)")
        let tables = [
            "received_rule_states", "received_pressure", "received_states", "received_events", "received_deliveries",
            "received_devices", "received_batches",
        ]
        try await withClickHouse { server in
            var store = try open(server)
            for table in tables {
                // The only group with rows for all tables.
                let failing = 2
                let device = device("\(table)-\(failing)")
                var announced: [EventDelivery] = []
                for number in 0..<4 {
                    if number == failing {
                        try await server.execute("RENAME TABLE \(table) TO hidden")
                        #expect(throws: StoreError.self) { try store.write(group(number, of: device)) }
                        try await server.execute("RENAME TABLE hidden TO \(table)")
                        if restarts {
                            store = try open(server)
                            announced = try store.pendingDeliveries()
                        }
                    }
                    announced += try store.write(group(number, of: device)).deliveries
                }
                let reader = try StoreReader(ClickHouseAddress(server.url()))
                let events = try reader.events(
                    of: device, limit: .max)
                let pending = try reader.deliveries(.pending)
                #expect(
                    result(events, store.observerStates(), pending, of: device) == expected,
                    "\(table), group \(failing)")
                #expect(
                    result([], [], announced, of: device).deliveries == expected.deliveries,
                    "\(table), group \(failing)")
                #expect(Set(announced.map(\.id)).count == announced.count)
                #expect(try reader.eventCounts(of: device) == (all: 7, open: 7))
                #expect(try reader.eventCounts(of: device, severity: .warning) == (all: 7, open: 7))
                #expect(try reader.events(of: device, severity: .critical).isEmpty)
            }
        }
    }

    @Test(
        "an owner whose devices were taken over while it committed stores no sample, and the next one has each event once"
    )
    func takenOver() async throws {
        try await withClickHouse { server in
            let device = device("left")
            let first = try open(server)
            try first.takeOver(FencingToken(rawValue: 2_000_000_000)) { _ in true }
            try observe(first)
            for number in 0..<2 { try first.write(group(number, of: device)) }
            let second = try open(server)
            try second.takeOver(FencingToken(rawValue: 2_000_000_001)) { _ in true }
            try observe(second)
            // It has not noticed yet that it has lost its share.
            #expect(throws: StoreError.self) { try first.write(group(2, of: device)) }
            let count = "SELECT count() FROM received_pressure"
            #expect(try await server.execute(count) == ["8"])
            for number in 2..<4 { try second.write(group(number, of: device)) }
            #expect(try await server.execute(count) == ["16"])
            let third = try open(server)
            try third.takeOver(FencingToken(rawValue: 2_000_000_002)) { _ in true }
            let events = try StoreReader(ClickHouseAddress(server.url())).events(
                of: device, limit: .max)
            #expect(events.count == 7 && Set(events.map(\.key)).count == 7)
            #expect(events.map(\.id) == events.map(\.id).sorted())
            #expect(third.observerStates().count == 4)
        }
    }

    @Test("a row of an earlier owner that arrives late is not adopted, also if the next owner has written nothing")
    func lateRow() async throws {
        try await withClickHouse { server in
            let (device, right) = (device("left"), device("right"))
            let count = "SELECT count() FROM events"
            let first = try open(server)
            try first.takeOver(FencingToken(rawValue: 2_000_000_000)) { _ in true }
            try observe(first)
            for number in 0..<2 { try first.write(group(number, of: device)) }
            try first.write(quiet(right))
            let events = try await server.execute(count)
            let second = try open(server, recovers: false)
            try second.takeOver(FencingToken(rawValue: 2_000_000_001)) { _ in true }
            #expect(throws: StoreError.self) { try first.write(group(2, of: device)) }
            // A device about which no rule has concluded anything.
            #expect(throws: StoreError.self) { try first.write(group(1, of: right)) }
            let third = try open(server, recovers: false)
            try third.takeOver(FencingToken(rawValue: 2_000_000_002)) { _ in true }
            try observe(third)
            #expect(third.lifecycles()[device]?.last?.to == .active)
            #expect(
                third.observerStates().sorted { $0.rule < $1.rule }
                    == second.observerStates().sorted { $0.rule < $1.rule })
            #expect(try await server.execute(count) == events)
            for number in 2..<4 { try third.write(group(number, of: device)) }
            #expect(try await server.execute(count) == ["7"])
        }
    }

    @Test("what was concluded before a failure stays: the life cycle, and the evaluated samples of all devices")
    func concluded() async throws {
        try await withClickHouse { server in
            let (left, right) = (device("left"), device("right"))
            let store = try open(server)
            for number in 0..<2 { try store.write(group(number, of: left)) }
            var both = group(2, of: left)
            both.runs += quiet(right).runs
            try await server.execute("RENAME TABLE received_pressure TO hidden")
            #expect(throws: StoreError.self) { try store.write(both) }
            #expect(store.lifecycles()[left]?.last?.to == .background)
            #expect(store.ledger.evaluated[DeviceRecord.id(of: right)]?["pressure"]?.count == 1)
            try await server.execute("RENAME TABLE hidden TO received_pressure")
            // The samples come again, but not the transition.
            both.transitions = []
            both.lifecycles = [:]
            try store.write(both)
            #expect(store.ledger.evaluated.isEmpty)
            #expect(
                try await server.execute("SELECT state FROM states ORDER BY seq") == ["active", "active", "background"])
            #expect(try await server.execute("SELECT state FROM devices WHERE device = 'left'") == ["background"])
            #expect(try await server.execute("SELECT count() FROM events WHERE rule = 'away'") == ["1"])
        }
    }

    @Test("an event is acknowledged once, and its notifications end")
    func acknowledged() async throws {
        try await withClickHouse { server in
            let device = device("left")
            let store = try open(server)
            let deliveries = try store.write(group(0, of: device)).deliveries
            let event = try #require(deliveries.first?.event)
            var group = IngestGroup()
            for (index, delivery) in deliveries.enumerated() {
                group.deliveries.append(
                    DeliveryUpdate(
                        of: delivery, state: index == 0 ? .sent : .dead, attempts: index,
                        due: Timestamp(microseconds: 9),
                        error: index == 0 ? nil : "status 422"))
            }
            group.acknowledgements = [EventAcknowledgement(key: event.key, at: Timestamp(microseconds: 5))]
            #expect(try store.write(group).acknowledged.map(\.acknowledged.microseconds) == [5])
            group.deliveries = []
            group.acknowledgements = [
                EventAcknowledgement(key: event.key, at: Timestamp(microseconds: 7)),
                EventAcknowledgement(
                    key: .init(rule: "none", device: device, time: event.time), at: Timestamp(microseconds: 7)),
            ]
            #expect(try store.write(group).acknowledged.map(\.acknowledged.microseconds) == [5])
            #expect(try await server.execute("SELECT acknowledged FROM events") == ["5"])
            let reopened = try open(server)
            #expect(try reopened.pendingDeliveries().isEmpty)
            let dead = try StoreReader(ClickHouseAddress(server.url())).deliveries(.dead)
            #expect(dead.map(\.error) == ["status 422"] && dead.first?.event.acknowledged?.microseconds == 5)
        }
    }

    @Test(
        "times are encoded with their differences", arguments: [[], [5], [1, 2, 3, 9], [.min, 0, .max], [-3, -1, 1]])
    func times(_ times: [Int64]) {
        #expect(TimeList.decode(TimeList.encode(Set(times))) == Set(times))
        #expect(TimeList.encode([10, 20, 30, 31]) == "10 10x2 1")
        #expect(TimeList.decode("1 2x0") == nil && TimeList.decode("x") == nil)
    }

    func open(_ server: TestClickHouse, recovers: Bool = true) throws -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.survivesPowerLoss = false
        options.minInterval = .zero
        options.ownsDevices = recovers
        let store = try ClickHouseStore(ClickHouseAddress(server.url()), options: options)
        try observe(store)
        return store
    }

    func observe(_ store: any SampleStore, _ rules: String = RuleTests.rules) throws {
        store.setObserver(try RuleObserver(try parseRules(rules, file: "rules.yaml"), store: store, folder: "/"))
    }

    /// Returns what is about a device, without its name.
    private func result(
        _ events: [StoredEvent], _ states: [ObserverState], _ deliveries: [EventDelivery], of device: DeviceAddress
    ) -> Result {
        func text(_ event: StoredEvent) -> String { "\(event.rule) \(event.time.microseconds)" }
        return Result(
            events: events.map(text).sorted(),
            states: states.filter { $0.device == device }.map { "\($0.rule) \(sorted($0.json))" }.sorted(),
            deliveries: deliveries.filter { $0.event.device == device }.map {
                "\(text($0.event)) \($0.way) \($0.attempts)"
            }.sorted())
    }

    /// Returns the characters of a JSON text in an order that does not depend on that of its members.
    private func sorted(_ json: String) -> String { String(json.sorted()) }

    func device(_ name: String, in group: String = "lab") -> DeviceAddress {
        DeviceAddress(group: GroupID(unchecked: group), device: DeviceID(unchecked: name))
    }

    /// Returns a group with one sample that changes no state of a rule.
    func quiet(_ device: DeviceAddress) -> IngestGroup {
        var block = SampleBlock(stream: .pressure)
        block.append(time: Timestamp(microseconds: 1_700_000_000_000_000), values: [5])
        let batch = Batch(
            position: BatchPosition(epoch: Epoch(unchecked: "q"), seq: 1), isLive: true, samples: block)
        return IngestGroup(
            batches: [
                ReceivedBatch(
                    device: device, batch: batch, receivedAt: Timestamp(microseconds: 1_700_000_000_500_000))
            ])
    }

    /// Returns the group with a number: 4 s of samples, and in the third a transition.
    func group(_ number: Int, of device: DeviceAddress) -> IngestGroup {
        let start = 1_700_000_000_000_000 + Int64(number) * 4_000_000
        func batch(_ stream: SensorStream, seq: Int, _ rows: [[Double]]) -> ReceivedBatch {
            var block = SampleBlock(stream: stream)
            for (second, values) in rows.enumerated() {
                block.append(time: Timestamp(microseconds: start + Int64(second) * 1_000_000), values: values)
            }
            return ReceivedBatch(
                device: device,
                batch: Batch(
                    position: BatchPosition(epoch: Epoch(unchecked: "e"), seq: Int64(seq)), isLive: true,
                    samples: block), receivedAt: Timestamp(microseconds: start + 5_000_000))
        }
        let values: [[Double]] = [[5, 11, 12, 5], [5, 11, 11, 11], [11, 11, 5, 11], [11, 5, 5, 11]]
        let pressure = values[number].map { [$0] }
        let steps = [[Double(start - 1), 10.0] + Array(repeating: .nan, count: SensorStream.steps.columns.count - 2)]
        var group = IngestGroup(
            batches: [
                batch(.pressure, seq: 2 * number + 1, pressure), batch(.steps, seq: 2 * number + 2, steps),
            ])
        let change = LifecycleTransition(
            from: number == 0 ? nil : .active, to: number == 2 ? .background : .active,
            since: Timestamp(microseconds: start), reason: "test", seq: Int64(number + 1))
        group.transitions = [DeviceTransition(device: device, transition: change)]
        group.lifecycles = [device: LifecycleSnapshot(last: change, epoch: Epoch(unchecked: "e"))]
        return group
    }
}
