import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

/// The same random groups in both kinds of stores.
@Suite("Equivalence of stores", .enabled(if: TestClickHouse.isInstalled, "clickhouse-server is not installed"))
struct EquivalenceTests {
    private static let streams: [SensorStream] = [.accelerometer, .deviceMotion, .steps, .location, .battery]

    @Test("a ClickHouse store gives the same results and answers as an SQLite store", arguments: [1, 2, 3] as [UInt64])
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
                try Self.compare(try StoreReader(path: path), try ClickHouseReader(address))
            }
        }
    }

    private static func compare(_ file: any StoreReading, _ database: any StoreReading) throws {
        #expect(try file.devices() == database.devices())
        #expect(try file.verification(devices: nil) == database.verification(devices: nil))
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

    /// The rows of a query as text, with sums and means rounded: both stores add in different orders.
    private static func rows(
        _ reader: any StoreReading, _ stream: SensorStream, _ detail: QueryDetail, devices: [DeviceID] = [],
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
        return group
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
