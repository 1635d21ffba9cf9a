import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("Copy of a store", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct StoreCopyTests {
    @Test("batch numbers are copied only if no sample is missing")
    func incomplete() async throws {
        try await withStore { path in
            try await withClickHouse { server in
                let source = try StoreReader(path: path)
                let target = try open(server.url())
                _ = try open(server.url("empty"))
                // The hour differs, so that its samples are looked up.
                try target.insert(
                    block([1_700_000_000_020_000], x: [1]),
                    of: DeviceAddress(group: .standard, device: DeviceID(unchecked: "left")))

                var copy = StoreCopy(
                    source: source, target: target, check: try StoreReader(ClickHouseAddress(server.url("empty")))
                ) { _, _, _ in }
                let report = try copy.run()
                #expect(report.missing == 2)
                #expect(try await server.execute("SELECT count() FROM batches") == ["0"])
                #expect(try await server.execute("SELECT count() FROM states") == ["1"])

                var again = StoreCopy(
                    source: source, target: target, check: try StoreReader(ClickHouseAddress(server.url()))
                ) { _, _, _ in }
                #expect(try again.run().isComplete)
                #expect(
                    try await server.execute("SELECT first, last FROM batches ORDER BY first") == ["1\t1", "3\t3"])
            }
        }
    }

    @Test("estimates of clocks, conflicts, rejected messages, events and states of rules are copied once")
    func records() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let now = Moment.now().wall.microseconds
            let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
            var group = IngestGroup(batches: [received(block([now], x: [1]), "left", nil)])
            group.append(received(block([now], x: [0.125]), "left", nil))
            let point = ClockPoint(
                collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: now),
                segment: Timestamp(microseconds: now), offset: 500, skew: 12_500, bound: 150, skewBound: 0)
            group.clocks = [DeviceClock(device: left, epoch: Epoch(unchecked: "e1"), point: point)]
            let message = RejectedMessage(
                at: Timestamp(microseconds: now), topic: "a/b", reason: "no\ttime", size: 3, head: [0, 255, 9])
            var session = RecordingSession(
                key: .init(group: .standard, id: SessionID(unchecked: "walk-3")), name: "walk 3",
                created: Timestamp(microseconds: now))
            session.state = .stopping
            session.devices[left.device] = .init(joined: Timestamp(microseconds: now))
            group.sessions = [session]
            let marker = RecordingSession.Marker(
                id: "m", time: Timestamp(microseconds: now), clock: .arrival, text: "turn")
            group.markers = [(session.key, marker)]
            // Two equal messages are two messages.
            group.rejected = [message, message]
            try write(group, to: path)
            let database = try SQLiteDatabase(path: path, mode: .readWrite)
            try database.execute(
                """
                INSERT INTO events (rule, device_id, t, at, value, text, late, severity, acknowledged)
                    SELECT 'high', device_id, 5, \(now), 11, 'it''s high', 0, 'critical', 9 FROM _devices;
                INSERT INTO events (rule, device_id, t, at, value, text, late, severity)
                    VALUES ('full', 0, 6, \(now), NULL, '', 1, 'info');
                INSERT INTO deliveries (event_id, way, state, attempts, due, error)
                    VALUES (1, 'bus', 'sent', 0, 7, NULL), (1, 'desk', 'dead', 3, 8, 'status 422');
                INSERT INTO _rule_states VALUES ('high', 'default/left', '{"live":{"isActive":true}}');
                """)
            try await withClickHouse { server in
                for isLater in [false, true] {
                    // Without a message, as by the time.
                    if isLater {
                        try database.execute("UPDATE _rule_states SET state = '{\"live\":{}}'")
                        try database.execute("UPDATE sessions SET state = 'complete', labels = '{\"subject\":\"7\"}'")
                        session.state = .complete
                        session.labels = ["subject": "7"]
                    }
                    var copy = StoreCopy(
                        source: try StoreReader(path: path), target: try open(server.url()),
                        check: try StoreReader(ClickHouseAddress(server.url()))
                    ) { _, _, _ in }
                    let report = try copy.run()
                    #expect(report.isComplete && report.events == 2 && report.conflicts == 1 && report.rejected == 2)
                    session.markers = [marker]
                    let copied = try StoreReader(ClickHouseAddress(server.url())).sessions()
                    #expect(report.sessions == 1 && copied == [session])
                    #expect(try await server.execute("SELECT x FROM accelerometer") == ["1"])
                    #expect(try await server.execute("SELECT conflicts FROM conflicts") == ["1"])
                    #expect(try await server.execute("SELECT collector, offset FROM clocks") == ["main\t500"])
                    #expect(
                        try await server.execute("SELECT topic, hex(head) FROM rejected")
                            == ["a/b\t00FF09", "a/b\t00FF09"])
                    let events = try StoreReader(ClickHouseAddress(server.url()))
                    #expect(
                        try events.events(
                            of: nil, group: nil, rule: nil, from: nil, to: nil, after: 0, before: .max, limit: 9,
                            cancellation: nil
                        ).map {
                            "\($0.rule) \($0.text) \($0.acknowledged?.microseconds ?? 0) \($0.isLate) \($0.severity)"
                        }
                            == ["high it's high 9 false critical", "full  0 true info"])
                    let ofGroup = try events.events(
                        of: nil, group: .standard, rule: nil, from: nil, to: nil, after: 0, before: .max, limit: 9,
                        cancellation: nil)
                    #expect(ofGroup.map(\.rule) == ["high"] && ofGroup.first?.device == left)
                    #expect(try events.deliveries(.sent).map(\.way) == ["bus"])
                    #expect(try events.deliveries(.dead).map(\.error) == ["status 422"])
                }
                let states = try server.store().observerStates()
                #expect(states == [ObserverState(rule: "high", device: left, json: #"{"live":{}}"#)])
            }
        }
    }

    @Test("what was deleted or has expired is so in the copy, also if an earlier copy has it")
    func removed() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let day: Int64 = 86_400_000_000
            let now = Moment.now().wall.microseconds
            let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
            let times = [now - 30 * day, now - 2, now - 1, now]
            try write(IngestGroup(batches: [received(block(times, x: [1, 2, 3, 4]), "left", nil)]), to: path)
            try await withClickHouse { server in
                func copy() throws -> StoreCopy.Report {
                    var copy = StoreCopy(
                        source: try StoreReader(path: path), target: try open(server.url()),
                        check: try StoreReader(ClickHouseAddress(server.url()))
                    ) { _, _, _ in }
                    return try copy.run()
                }
                #expect(try copy().isComplete)
                var options = SQLiteStore.Options()
                options.retention.rules = try KeepRules([(StreamPattern("*"), 10 * day)])
                options.retention.isConfirmed = true
                try {
                    let store = try SQLiteStore(path: path, options: options)
                    var group = IngestGroup()
                    group.deletions = [
                        Deletion(
                            id: "d", device: left, stream: "motion/accelerometer", times: now - 2..<now - 1,
                            at: Timestamp(microseconds: now), who: "anna")
                    ]
                    try store.write(group)
                    #expect(throws: CommandFailure.self) { try copy() }
                    while store.needsMaintenance { store.performMaintenance() }
                    store.close()
                }()
                for _ in 0..<2 { #expect(try copy().isComplete) }
                // What has expired leaves the copy by the rules of its own collector.
                #expect(try await server.execute("SELECT x FROM accelerometer ORDER BY t") == ["1", "3", "4"])
                let (source, target) = (try StoreReader(path: path), try StoreReader(ClickHouseAddress(server.url())))
                #expect(try target.deletions(of: nil) == source.deletions(of: nil))
                #expect(try source.deletions(of: nil).map(\.count) == [1])
                #expect(try target.expiries() == source.expiries() && source.expiries().map(\.samples) == [1])
                let result = try server.store().write(
                    IngestGroup(batches: [received(block([now - 31 * day, now - 2], x: [1, 2]), "left", nil)]))
                #expect(result.devices[left] == .init(expired: 1))
                let comparison = try target.compare(block([now - 31 * day, now - 2], x: [1, 2]), of: left)
                #expect(comparison.deleted == 1 && comparison.expired == 1 && comparison.missing.isEmpty)
            }
        }
    }

    private func open(_ url: String) throws -> CopyTarget {
        try CopyTarget(ClickHouseAddress(url), survivesPowerLoss: false, quorum: nil, catalog: .builtIn)
    }
}
