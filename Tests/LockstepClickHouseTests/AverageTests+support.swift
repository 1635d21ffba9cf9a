import LockstepModel
import LockstepSensors
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

extension AverageTests {
    /// Summarises all minutes that are complete. A call summarises minutes of one stream.
    static func summarise(_ store: ClickHouseStore) {
        for _ in 0..<2 * streams.count { store.performAverages() }
    }

    static func open(
        _ server: TestClickHouse, report: (@Sendable (String, String) -> Void)? = nil
    ) throws -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.reportMaintenanceProblem = report
        options.survivesPowerLoss = false
        options.minInterval = .zero
        options.averageDelay = .zero
        return try ClickHouseStore(ClickHouseAddress(server.url()), options: options)
    }

    static func compare(_ path: String, _ server: TestClickHouse, _ seed: UInt64) throws {
        let (file, database) = (try StoreReader(path: path), try StoreReader(ClickHouseAddress(server.url())))
        for stream in streams {
            for span in [60_000_000, 90_000_000, 600_000_000] as [Int64] {
                for (from, to) in [(nil, nil), (start + 130_000_001, start + 1_500_000_007)] as [(Int64?, Int64?)] {
                    #expect(
                        try rows(file, stream, span, from, to) == rows(database, stream, span, from, to),
                        "seed \(seed): \(stream) \(span) \(from ?? 0)")
                }
            }
            // In pages, as the web server reads them.
            var paged: [[String]] = [[], []]
            for (index, reader) in [file as StoreReader, database].enumerated() {
                var from = start
                while true {
                    var last: Int64?
                    let query = SampleQuery(
                        device: devices[1], stream: stream, detail: .averages(span: 120_000_000),
                        from: Timestamp(microseconds: from), limit: 4)
                    let hasMore = try reader.run(query, cancellation: nil) { time, values in
                        last = time.microseconds
                        paged[index].append("\(time.microseconds) \(values.last ?? 0)")
                    }
                    paged[index].append("\(hasMore)")
                    guard hasMore, let last else { break }
                    from = last + 120_000_000
                }
            }
            #expect(paged[0] == paged[1], "seed \(seed)")
            for points in [3, 50] {
                let query = EnvelopeQuery(
                    device: devices[0], stream: stream, from: Timestamp(microseconds: start + 17_000_003),
                    to: Timestamp(microseconds: start + 3_000_000_000), points: points)
                let expected = try file.envelope(query, cancellation: nil).buckets.map { "\($0)" }
                #expect(try database.envelope(query, cancellation: nil).buckets.map { "\($0)" } == expected)
            }
        }
    }

    /// Compares the view of minutes with averages that the server computes from samples.
    static func compareView(_ server: TestClickHouse) async throws {
        let view = try await server.execute(
            "SELECT device_id, t, samples, round(x, 6), x_min, z_max FROM minutes_accelerometer ORDER BY device_id, t")
        let samples = try await server.execute(
            """
            SELECT device_id, intDiv(t, 60000000) * 60000000 AS m, count(), round(avg(x), 6), min(x), max(z) FROM accelerometer
            GROUP BY device_id, m ORDER BY device_id, m
            """)
        #expect(Set(view).isSubset(of: samples) && !view.isEmpty)
        for stream in streams { _ = try await server.execute("SELECT * FROM minutes_\(stream.table)") }
    }

    static func rows(
        _ reader: StoreReader, _ stream: SensorStream, _ span: Int64, _ from: Int64?, _ to: Int64?
    ) throws -> [String] {
        var rows: [String] = []
        try reader.query(
            stream: stream, detail: .averages(span: span), group: nil, devices: [],
            from: from.map(Timestamp.init(microseconds:)), to: to.map(Timestamp.init(microseconds:)), limit: nil
        ) { row in
            let values = row.values.map { $0.isNaN ? "-" : "\(($0 * 1e6).rounded())" }
            rows.append("\(row.device) \(row.time.microseconds) \(values.joined(separator: " "))")
        }
        return rows
    }

    /// The averages of the first value, and the numbers of samples.
    static func averages(
        _ reader: StoreReader, span: Int64, from: Int64? = nil, to: Int64? = nil
    ) throws -> [String] {
        var rows: [String] = []
        try reader.query(
            stream: .accelerometer, detail: .averages(span: span), group: nil, devices: [],
            from: from.map(Timestamp.init(microseconds:)), to: to.map(Timestamp.init(microseconds:)), limit: nil
        ) { row in rows.append("\(row.time.microseconds) \(row.values[0]) \(row.values[3])") }
        return rows
    }

    static func group(
        _ device: DeviceAddress, _ times: [Int64], value: Double, _ position: BatchPosition? = nil
    ) -> IngestGroup {
        var block = SampleBlock(stream: .accelerometer)
        for time in times { block.append(time: Timestamp(microseconds: time), values: [value, 0, 0]) }
        return IngestGroup(batches: [
            ReceivedBatch(
                device: device, batch: Batch(position: position, samples: block),
                receivedAt: Timestamp(microseconds: 1))
        ])
    }

    /// Samples of about a minute, which mostly follow those of the round before.
    static func group(_ round: Int, _ random: inout SeededGenerator) -> IngestGroup {
        var group = IngestGroup()
        for _ in 0..<Int.random(in: 2...6, using: &random) {
            let stream = streams.randomElement(using: &random) ?? .accelerometer
            let isLate = Int.random(in: 0..<5, using: &random) == 0
            let position = isLate ? Int.random(in: 0...round, using: &random) : round
            let first = Int64(position) * 50 + Int64.random(in: 0..<30, using: &random)
            let variant = Int.random(in: 0..<8, using: &random) == 0 ? 1 : 0
            var block = SampleBlock(stream: stream)
            for second in first..<first + Int64.random(in: 1...70, using: &random) {
                block.append(
                    time: Timestamp(microseconds: start + second * 1_000_000),
                    values: stream.columns.map { value(of: $0, at: second, variant) })
            }
            group.append(
                ReceivedBatch(
                    device: devices.randomElement(using: &random) ?? devices[0],
                    batch: Batch(position: nil, samples: block),
                    receivedAt: Timestamp(microseconds: 1_000_000 + Int64(round) * 1000)))
        }
        return group
    }

    static func value(of column: SensorStream.Column, at second: Int64, _ variant: Int) -> Double {
        if !column.isRequired, second % 5 == 0 { return .nan }
        if column.aggregate == .meanLongitude {
            return second / 100 % 2 == 0 ? Double(second % 8) - 4 : second % 2 == 0 ? 179.5 : -179.75
        }
        let number = Double(second % 8)
        return switch column.kind {
        case .real: number * 0.5 - 1 + Double(100 * variant)
        case .integer: number + Double(100 * variant)
        case .choice(let words): Double((Int(second) + variant) % words.count)
        }
    }
}
