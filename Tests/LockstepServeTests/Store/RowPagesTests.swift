import Foundation
import LockstepClickHouse
import LockstepHTTP
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepServe
@testable import LockstepStore

@Suite("Pages of rows")
struct RowPagesTests {
    private static let start: Int64 = 1_700_000_000_000_000
    private static let device = DeviceAddress(group: .standard, device: DeviceID(unchecked: "a"))

    /// Runs the body with a store with ten minutes of samples, ten per second, of a device whose clock is 5 s ahead and
    /// drifts.
    private func withStore(_ body: (StorePool) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/samples.db"
            let times = (0..<6000).map { Self.start + $0 * 100_000 }
            let block = SampleBlock(
                stream: .pressure, times: times,
                columns: SensorStream.pressure.columns.map { _ in times.map { Double($0 % 7) } })
            var group = IngestGroup(batches: [
                ReceivedBatch(
                    device: Self.device, batch: Batch(position: nil, samples: block),
                    receivedAt: Timestamp(microseconds: Self.start))
            ])
            let estimates: [(time: Int64, offset: Int64)] = [(0, 5_000_000), (600_000_000, 5_012_000)]
            group.clocks = estimates.map { time, offset in
                let point = ClockPoint(
                    collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: Self.start + time),
                    segment: Timestamp(microseconds: Self.start), offset: offset, skew: 20_000, bound: 150, skewBound: 0
                )
                return DeviceClock(device: Self.device, epoch: Epoch(unchecked: "e"), point: point)
            }
            _ = try SQLiteStore(path: path).write(group)
            let pool = StorePool(.sqlite(path: path), threads: 1, maxWaiting: 10)
            defer { pool.stop() }
            try await body(pool)
        }
    }

    /// Returns the rows of a query on the collector's clock, and the start of the missing ones.
    private func rows(
        from: Int64, to: Int64, _ parameters: String, _ pool: StorePool
    ) async throws -> (rows: [[Double]], next: Int64?) {
        let target = try RequestTarget("/?time=collector&from=\(from)&to=\(to)\(parameters)")
        let query = try StreamQuery(
            device: Self.device, stream: .pressure, QueryParameters(target.query, allowed: StreamQuery.parameters),
            ServeLimits(), now: Timestamp(microseconds: to))
        var stream = RowStream(query: query, limit: query.limit ?? 100_000)
        var bytes: [UInt8] = []
        repeat {
            bytes += try await stream.advance(RowPages(query: query), pool)
        } while !stream.isComplete
        let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let rows = try #require(object["rows"] as? [[Any]])
        return (
            rows.map { $0.map { ($0 as? NSNumber)?.doubleValue ?? .nan } }, (object["next"] as? NSNumber)?.int64Value
        )
    }

    @Test(
        "on the collector's clock, the buckets of an envelope have exactly the samples of the range",
        arguments: [1, 2, 7, 500])
    func envelope(points: Int) async throws {
        try await withStore { pool in
            // The whole store, all but its edges, and less than the time by which the clocks differ.
            for (first, last) in [(-60, 660), (-5, 595), (60, 540), (100, 103)] {
                let from = Self.start + Int64(first) * 1_000_000 + 12_345
                let to = Self.start + Int64(last) * 1_000_000 + 54_321
                let samples = try await rows(from: from, to: to, "", pool).rows
                #expect(samples.count >= 30)
                let buckets = try await rows(from: from, to: to, "&points=\(points)", pool).rows
                #expect(buckets.count <= points)
                #expect(Int(buckets.map { $0[1] }.reduce(0, +)) == samples.count, "\(first)...\(last) s")
                #expect(buckets.allSatisfy { Double(from) <= $0[0] && $0[0] < Double(to) })

                // The same in parts, each from where the previous one ended.
                guard points <= 7 else { continue }
                var (sum, next, parts) = (0, Optional(from), 0)
                while let start = next, parts < 200 {
                    let part = try await rows(from: start, to: to, "&points=\(points)&limit=1", pool)
                    sum += Int(part.rows.map { $0[1] }.reduce(0, +))
                    next = part.next
                    parts += 1
                }
                #expect(sum == samples.count, "\(first)...\(last) s in \(parts) parts")
            }
        }
    }

    @Test(
        "an answer says whether it was computed from samples, from summaries of minutes, or from both",
        arguments: [
            ("every=1h", 0, 7200, 2, "summaries"), ("every=1m&limit=50", 0, 7200, 50, "summaries"),
            ("every=1m", 0, 7200, 120, "summaries"), ("every=1h", 0, 7260, 3, "both"),
            ("every=30s", 0, 60, 2, "samples"),
            ("points=60", 0, 7200, 60, "summaries"), ("points=60", 30, 7200, 60, "both"),
            ("points=60", 0, 60, 60, "samples"), ("limit=3", 0, 7200, 3, "samples"),
            ("every=1h", 90_000, 93_600, 0, "samples"),
        ] as [(String, Int64, Int64, Int, String)])
    func source(parameters: String, from: Int64, to: Int64, count: Int, source: String) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/samples.db"
            // A whole hour.
            let first = Self.start - Self.start % 3_600_000_000
            let times = (0..<8000).map { first + $0 * 1_000_000 }
            let block = SampleBlock(
                stream: .pressure, times: times,
                columns: SensorStream.pressure.columns.map { _ in times.map { Double($0 % 7) } })
            let store = try SQLiteStore(path: path)
            try store.write(
                IngestGroup(batches: [
                    ReceivedBatch(
                        device: Self.device, batch: Batch(position: nil, samples: block),
                        receivedAt: Timestamp(microseconds: first))
                ]))
            store.summaries.due = .now
            repeat { store.performSummaries() } while store.needsSummaries
            let pool = StorePool(.sqlite(path: path), threads: 1, maxWaiting: 10)
            defer { pool.stop() }
            let target = try RequestTarget(
                "/?from=\(first + from * 1_000_000)&to=\(first + to * 1_000_000)&\(parameters)")
            let query = try StreamQuery(
                device: Self.device, stream: .pressure, QueryParameters(target.query, allowed: StreamQuery.parameters),
                ServeLimits(), now: Timestamp(microseconds: first))
            var stream = RowStream(query: query, limit: query.limit ?? 100_000)
            var bytes: [UInt8] = []
            repeat {
                bytes += try await stream.advance(RowPages(query: query, pageRows: 7), pool)
            } while !stream.isComplete
            let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
            #expect((object["rows"] as? [[Any]])?.count == count && object["source"] as? String == source, "\(object)")
        }
    }
}
