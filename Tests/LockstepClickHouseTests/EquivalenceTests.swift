import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

/// The same random groups in both kinds of stores.
@Suite("Equivalence of stores", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct EquivalenceTests {
    private static let streams: [SensorStream] = [
        .accelerometer, .deviceMotion, .steps, .floors, .location, .battery,
    ]

    // The current engine is slower here, and the first seed has all comparisons.
    @Test(
        "a ClickHouse store gives the same results and answers as an SQLite store",
        arguments: (TestClickHouse.isServer ? [1, 2] : [1]) as [UInt64])
    func equal(seed: UInt64) async throws {
        try await withClickHouse { server in
            try await withTemporaryFolder { folder in
                let path = folder + "/store.db"
                let address = try ClickHouseAddress(server.url())
                var options = ClickHouseStore.Options()
                options.survivesPowerLoss = false
                options.minInterval = .zero
                let file = try SQLiteStore(path: path)
                var database = try ClickHouseStore(address, options: options)
                var random = SeededGenerator(seed: seed)
                for round in 0..<60 {
                    if round % 20 == 19 {
                        database.close()
                        database = try ClickHouseStore(address, options: options)
                    }
                    let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                        Self.group(round, &random)
                    }
                    for part in parts {
                        try file.add(part)
                        try database.add(part)
                    }
                    #expect(try file.commit() == database.commit(), "seed \(seed), round \(round)")
                }
                file.close()
                database.close()
                try await server.execute("OPTIMIZE TABLE received_accelerometer FINAL")
                let (stored, copied) = (try StoreReader(path: path), try StoreReader(address))
                try Self.compare(stored, copied)
                // These take some hundred requests.
                guard seed == 1 else { return }
                try Self.compareHistories(stored, copied)
                try Self.compareMerges(stored, copied)
            }
        }
    }

    private static func compare(_ file: StoreReader, _ database: StoreReader) throws {
        #expect(try file.devices().map(line) == database.devices().map(line))
        func counts(_ reader: StoreReader) throws -> [String] {
            try reader.verification().map { "\(line($0.device)) \($0.samples) \($0.conflicts)" }
        }
        #expect(try counts(file) == counts(database))
        #expect(try !database.devices().isEmpty)
        let device = DeviceID(unchecked: "d1")
        for stream in streams {
            for detail in [QueryDetail.samples, .last, .averages(span: 7), .averages(span: 60_000_000)] {
                #expect(
                    try rows(file, stream, detail) == rows(database, stream, detail), "\(stream) \(detail)")
                #expect(
                    try rows(file, stream, detail, devices: [device], from: 3, to: 17, limit: 5)
                        == rows(database, stream, detail, devices: [device], from: 3, to: 17, limit: 5))
            }
            let block = SampleBlock(
                stream: stream, times: Array(0..<30),
                columns: stream.columns.map { column in
                    (0..<30).map { value(of: column, at: $0, 0) }
                })
            let address = DeviceAddress(group: GroupID(unchecked: "lab"), device: device)
            #expect(try file.compare(block, of: address) == database.compare(block, of: address))
        }
    }

    private static func compareHistories(_ file: StoreReader, _ database: StoreReader) throws {
        #expect(try overviews(file) == overviews(database))
        #expect(
            try file.newestClocks().map { "\($0)" } == database.newestClocks().map { "\($0)" })
        #expect(try !database.newestClocks().isEmpty)
        for name in ["d0", "d1", "d2", "d3", "unknown"] {
            let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: name))
            #expect(
                try file.contains(device, cancellation: nil) == database.contains(device, cancellation: nil))
            let (early, late) = (Timestamp(microseconds: 100), Timestamp(microseconds: 500))
            for (from, to, limit) in [(nil, nil, Int.max), (early, nil, 3), (nil, late, 1000)] {
                #expect(
                    try file.transitions(of: device, from: from, to: to, limit: limit, cancellation: nil)
                        == database.transitions(of: device, from: from, to: to, limit: limit, cancellation: nil))
            }
            for (from, to) in [(nil, nil), (early, late)] {
                #expect(
                    try file.walk(of: device, from: from, to: to, cancellation: nil)
                        == database.walk(of: device, from: from, to: to, cancellation: nil))
                let (start, end) = (from.map { $0 + 20_000_000_000 }, to.map { $0 + 30_000_000_000 })
                for timeLine in [ClockTimeLine.device, .collector] {
                    #expect(
                        try file.clockPoints(of: device, from: start, to: end, on: timeLine)
                            == database.clockPoints(of: device, from: start, to: end, on: timeLine))
                }
            }
            #expect(try health(file, device) == health(database, device))
            // Each envelope takes some requests.
            for stream in streams where name == "d1" || name == "unknown" {
                for (points, to) in [(1, Int64(90)), (7, 61), (40, 40), (1000, 90)] {
                    let query = EnvelopeQuery(
                        device: device, stream: stream, from: Timestamp(microseconds: 3),
                        to: Timestamp(microseconds: to), points: points)
                    #expect(try buckets(file, query) == buckets(database, query), "\(stream) \(points)")
                    #expect(try thinned(file, query) == thinned(database, query), "\(stream) \(points)")
                }
                let query = SampleQuery(
                    device: device, stream: stream, from: Timestamp(microseconds: 5), to: Timestamp(microseconds: 50),
                    limit: 4)
                #expect(try page(file, query) == page(database, query))
            }
        }
    }

    private static func compareMerges(_ file: StoreReader, _ database: StoreReader) throws {
        let devices = ["d2", "unknown", "d0", "d1"].map {
            DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: $0))
        }
        for (from, to) in [(nil, nil), (Timestamp(microseconds: 7), Timestamp(microseconds: 44))] {
            for stream in streams {
                #expect(
                    try file.timeRanges(of: stream, devices: devices, from: from, to: to)
                        == database.timeRanges(of: stream, devices: devices, from: from, to: to))
            }
            func rows(_ reader: StoreReader) throws -> [String] {
                var rows: [String] = []
                try reader.merge(streams: streams, devices: devices, from: from, to: to) { row, stream in
                    rows.append("\(row.device) \(stream) \(row.time.microseconds) \(row.values)")
                }
                return rows
            }
            let expected = try rows(file)
            #expect(expected.count > 10)
            #expect(try rows(database) == expected)
            #expect(try database.snapshot { [try rows(database), try rows(database)] } == [expected, expected])
        }
    }

    /// What both kinds of stores know of a device: its id differs.
    private static func line(_ device: StoredDevice) -> String {
        """
        \(device.address) \(String(describing: device.transition)) \(String(describing: device.phase)) \(device.isForgotten)
        \([device.firstSeen, device.lastSeen, device.lastSample]) \(device.record.counts) \(device.epochs)
        """
    }

    private static func overviews(_ reader: StoreReader) throws -> [String] {
        try reader.overviews(cancellation: nil).map { overview in
            """
            \(line(overview.device))
            \(overview.newest.sorted { $0.key < $1.key }) \(String(describing: overview.battery))
            \(String(describing: overview.position))
            """
        }
    }

    private static func health(_ reader: StoreReader, _ device: DeviceAddress) throws -> [String] {
        guard let health = try reader.health(of: device, limit: 1000, cancellation: nil) else { return [] }
        return [
            "\(line(health.device)) \(health.rejected) \(String(describing: health.clock)) \(health.recentRejections)"
        ] + health.recentConflicts.map { "\($0)" }
    }

    private static func buckets(_ reader: StoreReader, _ query: EnvelopeQuery) throws -> [String] {
        let envelope = try reader.envelope(query, cancellation: nil)
        return ["\(envelope.columns.map(\.name)) \(envelope.width)"]
            + envelope.buckets.map { "\($0.start.microseconds) \($0.samples) \(Array($0.values))" }
    }

    private static func thinned(_ reader: StoreReader, _ query: EnvelopeQuery) throws -> [String] {
        try reader.everyNth(query).map { "\($0.time.microseconds) \($0.values)" }
    }

    private static func page(_ reader: StoreReader, _ query: SampleQuery) throws -> [String] {
        var rows: [String] = []
        let hasMore = try reader.run(query, cancellation: nil) { rows.append("\($0.microseconds) \($1)") }
        return rows + ["\(hasMore)"]
    }

    /// The rows of a query as text, with sums and means rounded: both stores add in different orders.
    private static func rows(
        _ reader: StoreReader, _ stream: SensorStream, _ detail: QueryDetail, devices: [DeviceID] = [],
        from: Int64? = nil, to: Int64? = nil, limit: Int? = nil
    ) throws -> [String] {
        var rows: [String] = []
        try reader.query(
            stream: stream, detail: detail, group: nil, devices: devices,
            from: from.map(Timestamp.init(microseconds:)), to: to.map(Timestamp.init(microseconds:)), limit: limit
        ) { row in
            let values = row.values.map { $0.isNaN ? "-" : "\(($0 * 1e6).rounded())" }
            rows.append("\(row.device) \(row.time.microseconds) \(values.joined(separator: " "))")
        }
        return rows
    }

    private static func group(_ round: Int, _ random: inout SeededGenerator) -> IngestGroup {
        let received = Timestamp(microseconds: 1_000_000 + Int64(round) * 1000)
        func device(_ random: inout SeededGenerator) -> DeviceAddress {
            let name = "d\(Int.random(in: 0..<4, using: &random))"
            return DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: name))
        }
        var group = IngestGroup()
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let stream = streams.randomElement(using: &random) ?? .accelerometer
            let first = Int64.random(in: 0...Int64(20 + round), using: &random)
            let variant = Int.random(in: 0..<10, using: &random) == 0 ? 1 : 0
            var block = SampleBlock(stream: stream)
            for time in first..<first + Int64.random(in: 1...6, using: &random) {
                block.append(
                    time: Timestamp(microseconds: time),
                    values: stream.columns.map { value(of: $0, at: time, variant) })
            }
            let position = BatchPosition(
                epoch: Epoch(unchecked: "e\(Int.random(in: 0..<2, using: &random))"),
                seq: Int64.random(in: 1...40, using: &random))
            group.append(
                ReceivedBatch(
                    device: device(&random), batch: Batch(position: position, samples: block), receivedAt: received))
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            let first = Int64.random(in: 1...60, using: &random)
            let report = DroppedBatches(
                device: device(&random), epoch: Epoch(unchecked: "e0"), ranges: SequenceSet([first...first + 3]))
            group.dropped = [report]
            group.seen[report.device] = received
        }
        if Int.random(in: 0..<3, using: &random) == 0 { addState(round, &group, device(&random)) }
        if Int.random(in: 0..<3, using: &random) == 0 { addClock(round, &group, device(&random)) }
        return group
    }

    /// Adds a transition of a device. Its number is that of the round.
    private static func addState(_ round: Int, _ group: inout IngestGroup, _ device: DeviceAddress) {
        let change = LifecycleTransition(
            from: .background, to: round % 2 == 0 ? .active : .inactive,
            since: Timestamp(microseconds: Int64(round) * 10), reason: "it's \\ \(round)", seq: Int64(round) + 1)
        group.transitions.append(DeviceTransition(device: device, transition: change))
        group.lifecycles[device] = LifecycleSnapshot(last: change, phase: .foreground)
        group.seen[device] = Timestamp(microseconds: 1_000_000 + Int64(round) * 1000)
    }

    /// Adds an estimate of a device's clock against one of two collectors.
    private static func addClock(_ round: Int, _ group: inout IngestGroup, _ device: DeviceAddress) {
        let point = ClockPoint(
            collector: CollectorID(unchecked: round % 5 == 0 ? "second" : "main"),
            time: Timestamp(microseconds: Int64(round) * 1_000_000_000), segment: Timestamp(microseconds: 0),
            offset: Int64(round % 7) * 3_000_000_000, skew: Int64(round) - 20, bound: 150 + Int64(round), skewBound: 12)
        group.clocks.append(DeviceClock(device: device, epoch: Epoch(unchecked: "e\(round % 2)"), point: point))
        group.seen[device] = Timestamp(microseconds: 1_000_000 + Int64(round) * 1000)
    }

    private static func value(of column: SensorStream.Column, at time: Int64, _ variant: Int) -> Double {
        if !column.isRequired, time % 5 == 0 { return .nan }
        let number = Double(time % 8)
        return switch column.kind {
        case .real: number * 0.5 - 1 + Double(100 * variant)
        case .integer: number + Double(100 * variant)
        case .choice(let words): Double((Int(time) + variant) % words.count)
        }
    }
}
