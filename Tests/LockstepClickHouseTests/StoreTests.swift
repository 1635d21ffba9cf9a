import Glibc
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Store in ClickHouse", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct StoreTests {
    @Test("each sample is shown once, and the first of differing values is the sample")
    func once() async throws {
        try await withClickHouse { server in
            let store = try open(server)
            let first = try store.write(IngestGroup(batches: [received([1, 2, 3], seq: 1)]))
            #expect(first.devices[device] == IngestResult.Counts(stored: 3))
            #expect(first.received[scope] == SequenceSet([1...1]))
            let second = try store.write(
                IngestGroup(batches: [received([2, 3, 4], seq: 2, at: 2), received([3, 5], z: 9, seq: 3, at: 3)]))
            #expect(second.devices[device] == IngestResult.Counts(stored: 2, duplicates: 2, conflicts: 1))
            #expect(second.received[scope] == SequenceSet([1...3]))
            let again = try store.write(IngestGroup(batches: [received([3, 5], z: 9, seq: 3, at: 4)]))
            #expect(again.devices[device] == IngestResult.Counts(duplicates: 2))
            let expected = ["1\t-1", "2\t-1", "3\t-1", "4\t-1", "5\t9"]
            #expect(try await server.execute("SELECT t, z FROM accelerometer ORDER BY t") == expected)
            #expect(
                try await server.execute("SELECT stream, t, conflicts FROM conflicts")
                    == ["motion/accelerometer\t3\t1"])
            try await server.execute("OPTIMIZE TABLE received_accelerometer FINAL")
            #expect(try await server.execute("SELECT t, z FROM accelerometer ORDER BY t") == expected)
        }
    }

    @Test("with --sync full, each table asks the server to sync inserts")
    func synced() async throws {
        try await withClickHouse { server in
            let address = try ClickHouseAddress(server.url())
            let version = try await server.execute("SELECT version()", in: "default").first
            // Older servers are refused: see below.
            guard ServerVersion(version ?? "")?.syncsInserts == true else { return }
            try ClickHouseStore(address).write(IngestGroup(batches: [received([1, 2, 3], seq: 1)]))
            let tables = "FROM system.tables WHERE database = 'lockstep' AND engine LIKE '%MergeTree'"
            #expect(try await server.execute("SELECT count() > 20 \(tables)") == ["1"])
            let settings = ["fsync_after_insert = 1", "fsync_part_directory = 1"]
            for setting in settings {
                #expect(
                    try await server.execute("SELECT name \(tables) AND create_table_query NOT LIKE '%\(setting)%'")
                        == [],
                    "\(setting)")
            }
            #expect(try await server.execute("SELECT t FROM accelerometer ORDER BY t") == ["1", "2", "3"])
        }
    }

    @Test("a request goes to the next server if one accepts connections and does not answer")
    func hangingServer() async throws {
        try await withClickHouse { server in
            let silent = try LoopbackListener()
            let servers = server.url().replacing("127.0.0.1", with: "127.0.0.1:\(silent.port),127.0.0.1")
            let client = try ClickHouseClient(ClickHouseAddress(servers), timeout: 2000)
            client.retryTime = .seconds(1)
            #expect(try client.rows("SELECT 1", inDatabase: false) == [["1"]])
            // A reader, which would wait for 150 s.
            let reader = try ClickHouseClient(ClickHouseAddress(servers))
            reader.pulseInterval = .milliseconds(100)
            let start = ContinuousClock.now
            #expect(try reader.rows("SELECT 1", inDatabase: false) == [["1"]])
            #expect(ContinuousClock.now - start < .seconds(100))
            // A server that answers slowly is not left.
            let slow = try ClickHouseClient(
                ClickHouseAddress(servers.replacing("127.0.0.1:\(silent.port)", with: "localhost:\(server.port)")))
            slow.pulseInterval = .milliseconds(100)
            #expect(
                try slow.rows("SELECT count() FROM (SELECT sleep(1) FROM numbers(2))", inDatabase: false) == [["2"]])
        }
    }

    @Test("rows that are inserted again after a lost answer do not change what the views show")
    func insertedAgain() async throws {
        try await withClickHouse { server in
            try open(server).write(
                IngestGroup(batches: [received([1, 2], seq: 1), received([2], z: 9, seq: 2, at: 2)]))
            // The row received first comes back later, as after an insert whose answer was lost.
            try await server.execute(
                """
                INSERT INTO received_accelerometer
                SELECT device_id, t, x, y, z, _rank - 5000000, _values_hash FROM received_accelerometer WHERE z = -1
                """)
            try await server.execute("OPTIMIZE TABLE received_accelerometer FINAL")
            #expect(
                try await server.execute("SELECT t, z FROM v_accelerometer ORDER BY t") == ["1\t-1", "2\t-1"])
            #expect(try await server.execute("SELECT count() FROM received_accelerometer") == ["3"])
        }
    }

    @Test("a conflict never becomes the sample, even if the collector's clock is set back before it arrives")
    func clockSetBack() async throws {
        try await withClickHouse { server in
            let store = try open(server)
            try store.write(IngestGroup(batches: [received([1], seq: 1, at: 100)]))
            try store.write(IngestGroup(batches: [received([1], z: 9, seq: 2, at: 1)]))
            #expect(try await server.execute("SELECT t, z FROM accelerometer") == ["1\t-1"])
        }
    }

    @Test("a device that is forgotten stays so when the store is reopened, and can be known again")
    func forgotten() async throws {
        try await withClickHouse { server in
            let last = LifecycleTransition(
                from: nil, to: .terminated, since: Timestamp(microseconds: 1), reason: "stop", seq: 1)
            var snapshot = LifecycleSnapshot(last: last, session: 7, isForgotten: true)
            for isForgotten in [true, false] {
                snapshot.isForgotten = isForgotten
                var group = IngestGroup()
                group.lifecycles = [device: snapshot]
                let store = try open(server)
                try store.write(group)
                store.close()
                let reopened = try open(server)
                #expect(reopened.lifecycles() == [device: snapshot])
                #expect(
                    try StoreReader(ClickHouseAddress(server.url())).devices().map(\.isForgotten) == [isForgotten])
                reopened.close()
            }
        }
    }

    @Test("devices, life cycles and batch numbers are restored")
    func restored() async throws {
        try await withClickHouse { server in
            var group = IngestGroup(batches: [received([1, 2], seq: 1), received([3], seq: 3)])
            let change = LifecycleTransition(
                from: nil, to: .active, since: Timestamp(microseconds: 1), reason: "tab\there", seq: 1)
            let snapshot = LifecycleSnapshot(
                last: change, epoch: Epoch(unchecked: "e"), session: 7, phase: .foreground,
                evidenceTime: Timestamp(microseconds: 3))
            group.lifecycles = [device: snapshot]
            group.transitions = [DeviceTransition(device: device, transition: change)]
            group.dropped = [DroppedBatches(device: device, epoch: Epoch(unchecked: "e"), ranges: SequenceSet([5...6]))]
            group.seen = [device: Timestamp(microseconds: 9)]
            let store = try open(server)
            try store.write(group)
            store.close()

            let reopened = try open(server)
            #expect(reopened.lifecycles() == [device: snapshot])
            let result = try reopened.write(IngestGroup(batches: [received([2, 4], seq: 2)]))
            #expect(result.devices[device] == IngestResult.Counts(stored: 1, duplicates: 1))
            #expect(result.received[scope] == SequenceSet([1...3, 5...6]))
            reopened.close()
            #expect(
                try await server.execute("SELECT group_name, device, samples, duplicates, last_t, state FROM devices")
                    == ["lab\tone\t4\t1\t4\tactive"])
            #expect(
                try await server.execute("SELECT seq, state, reason FROM states") == ["1\tactive\ttab\\there"])
        }
    }

    @Test("a failed commit stores nothing that is acknowledged, and the same group can be written again")
    func failedCommit() async throws {
        try await withClickHouse { server in
            let store = try open(server)
            try store.write(IngestGroup(batches: [received([1], seq: 1)]))
            await server.stop(SIGKILL)
            let group = IngestGroup(batches: [received([2], seq: 2)])
            let error = #expect(throws: StoreError.self) { try store.write(group) }
            #expect(error?.code == .unreachable)
            try await server.start()
            let result = try store.write(group)
            #expect(result.devices[device] == IngestResult.Counts(stored: 1))
            #expect(result.received[scope] == SequenceSet([1...2]))
            #expect(try await server.execute("SELECT t FROM accelerometer ORDER BY t") == ["1", "2"])
        }
    }

    @Test("a declared stream is restored without its declaration, and a changed one is refused")
    func declared() async throws {
        try await withClickHouse { server in
            let address = try ClickHouseAddress(server.url())
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            func stream(_ kind: SensorStream.Kind) throws -> SensorStream {
                try SensorStream(
                    declaring: "x/air", summary: "Air",
                    columns: [
                        try SensorStream.Column(
                            declaring: "co2", kind: kind, unit: "ppm", isRequired: true, summary: ""),
                        // These words have been names in statements.
                        try SensorStream.Column(declaring: "bucket", kind: .real),
                        try SensorStream.Column(declaring: "span_start", kind: .real),
                    ])
            }
            let air = try stream(.real)
            let store = try ClickHouseStore(address, options: options, catalog: StreamCatalog(declared: [air]))
            let reader = try StoreReader(address)
            #expect(try reader.catalog().declared == [air])
            var block = SampleBlock(stream: air)
            for (time, value) in [(21, 5), (22, 7), (31, 9)] as [(Int64, Double)] {
                block.append(time: Timestamp(microseconds: time), values: [value, value + 100, value + 200])
            }
            try store.write(
                IngestGroup(batches: [
                    ReceivedBatch(
                        device: device, batch: Batch(position: nil, samples: block),
                        receivedAt: Timestamp(microseconds: 1))
                ]))
            var averages: [[Double]] = []
            try reader.query(
                stream: air, detail: .averages(span: 10), group: nil, devices: [], from: nil, to: nil, limit: nil
            ) { averages.append([Double($0.time.microseconds)] + $0.values) }
            #expect(averages == [[20, 6, 106, 206, 2], [30, 9, 109, 209, 1]])
            let query = EnvelopeQuery(
                device: device, stream: air, from: Timestamp(microseconds: 20), to: Timestamp(microseconds: 40),
                points: 2)
            let buckets = try reader.envelope(query, cancellation: nil).buckets
            #expect(buckets.map(\.start.microseconds) == [20, 30])
            #expect(buckets.map { Array($0.values) } == [[5, 7, 105, 107, 205, 207], [9, 9, 109, 109, 209, 209]])
            #expect(try reader.everyNth(query, cancellation: nil).count == 2)
            let error = #expect(throws: StoreError.self) {
                try ClickHouseStore(address, options: options, catalog: StreamCatalog(declared: [stream(.integer)]))
            }
            #expect(error?.code == .streams && error?.stream == "x/air")
        }
    }

    @Test("batches that devices no longer have are missing, unless they are from before the store")
    func reports() async throws {
        try await withClickHouse { server in
            let epoch = Epoch(unchecked: "e")
            func group(_ batches: [ReceivedBatch], seq: Int64, pending: ClosedRange<Int64>) -> IngestGroup {
                var group = IngestGroup(
                    batches: batches, lifecycles: [device: LifecycleSnapshot(epoch: epoch, session: 1)],
                    seen: [device: Timestamp(microseconds: 1)])
                group.reports[DeviceEpoch(device: device, epoch: epoch)] = OutboxReport(
                    epoch: epoch, seq: seq, pending: [epoch: SequenceSet([pending])])
                return group
            }
            func state() throws -> String {
                let reader = try StoreReader(ClickHouseAddress(server.url()))
                let summary = try #require(try reader.devices().first)
                let found = try #require(try reader.verification(devices: nil).first?.epochs.first)
                #expect(summary.missing == found.missing.count && summary.onItsWay == found.onItsWay.count)
                return "missing [\(found.missing)] way [\(found.onItsWay)] before [\(found.earlier)]"
            }
            let store = try open(server)
            try store.write(group([received([85], seq: 85)], seq: 85, pending: 80...84))
            #expect(try state() == "missing [] way [80-84] before [1-79]")
            // Soon after the store knows the device, also between batches that it has.
            try store.write(group([received([90], seq: 90)], seq: 90, pending: 80...84))
            #expect(try state() == "missing [] way [80-84] before [1-79, 86-89]")
            store.close()
            let again = try open(server)
            try again.write(group([], seq: 90, pending: 83...84))
            #expect(try state() == "missing [80-82] way [83-84] before [1-79, 86-89]")
        }
    }

    @Test("a query finds samples that are far apart")
    func gaps() async throws {
        try await withClickHouse { server in
            let day: Int64 = 86_400_000_000
            let times = [-3, -1, 0, 59_999_999, 60_000_000, 61_000_000, 10 * day, 10 * day + 1, 4000 * day]
            let store = try open(server)
            try store.write(IngestGroup(batches: [received(times, seq: 1)]))
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            func read(_ detail: QueryDetail, from: Int64? = nil) throws -> [Int64] {
                var found: [Int64] = []
                try reader.query(
                    stream: .accelerometer, detail: detail, group: nil, devices: [],
                    from: from.map(Timestamp.init(microseconds:)), to: nil, limit: nil
                ) { found.append($0.time.microseconds) }
                return found
            }
            #expect(try read(.samples) == times)
            #expect(try read(.samples, from: 60_000_000) == Array(times[4...]))
            #expect(
                try read(.averages(span: day)) == [-day, 0, 10 * day, 4000 * day])

            // The partition of the last sample is dropped after the start of the query.
            let border = 650 * SamplePartition.length
            let (first, last) = (border - 30_000_000, border + 60_000_000)
            try store.write(IngestGroup(batches: [received([first, last], seq: 2)]))
            var found: [Int64] = []
            try reader.query(
                stream: .accelerometer, detail: .samples, group: nil, devices: [],
                from: Timestamp(microseconds: first), to: Timestamp(microseconds: last + 1), limit: nil
            ) { row in
                found.append(row.time.microseconds)
                try store.client.execute("ALTER TABLE received_accelerometer DROP PARTITION 650")
            }
            #expect(found == [first])
        }
    }

    @Test("windows of a query grow, shrink and skip gaps")
    func windows() {
        var window = QueryWindow(start: 0)
        #expect(window.next(before: 1 << 60) == 0...59_999_999)
        window.record(rows: 10)
        #expect(window.next(before: 1 << 60) == 60_000_000...299_999_999)
        window.record(rows: 1_000_000)
        window.skip(to: 1_000_000_000)
        #expect(window.next(before: 1 << 60) == 1_000_000_000...1_059_999_999)
        #expect(window.next(before: 1_000_000_001) == nil)
        var last = QueryWindow(start: .max - 1)
        #expect(last.next(before: .max) == Int64.max - 1...Int64.max)
    }

    @Test("problems of the server are reported with what to do")
    func problems() async throws {
        try await withClickHouse { server in
            var options = ClickHouseStore.Options()
            let address = try ClickHouseAddress(server.url())
            let version = try ServerVersion(ClickHouseClient(address))
            if !version.syncsInserts {
                let error = #expect(throws: StoreError.self) { try ClickHouseStore(address, options: options) }
                #expect(error?.description.contains("--sync normal") == true)
            }
            options.survivesPowerLoss = false
            let guarded = try ClickHouseAddress(server.url().replacing("//", with: "//guarded@"))
            let refused = #expect(throws: StoreError.self) { try ClickHouseStore(guarded, options: options) }
            #expect(refused?.code == .notAllowed && refused?.description.contains("--store-password-file") == true)
            _ = try ClickHouseStore(address, options: options)
            try await server.execute("INSERT INTO lockstep_schema VALUES (99, 0, 9000000000000000)")
            let newer = #expect(throws: StoreError.self) { try ClickHouseStore(address, options: options) }
            #expect(newer?.code == .schema)
        }
    }
}

extension StoreTests {
    var device: DeviceAddress { DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one")) }
    var scope: DeviceEpoch { DeviceEpoch(device: device, epoch: Epoch(unchecked: "e")) }

    func open(_ server: TestClickHouse) throws -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.survivesPowerLoss = false
        options.minInterval = .zero
        return try ClickHouseStore(try ClickHouseAddress(server.url()), options: options)
    }

    /// Returns a batch of samples at `times` µs, received at `second` s.
    func received(_ times: [Int64], z: Double = -1, seq: Int64, at second: Int64 = 1) -> ReceivedBatch {
        var block = SampleBlock(stream: .accelerometer)
        for time in times { block.append(time: Timestamp(microseconds: time), values: [0, 0, z]) }
        return ReceivedBatch(
            device: device,
            batch: Batch(position: BatchPosition(epoch: Epoch(unchecked: "e"), seq: seq), samples: block),
            receivedAt: Timestamp(microseconds: second * 1_000_000))
    }
}
