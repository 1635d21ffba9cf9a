import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Reading from ClickHouse", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct ReadingTests {
    private static let device = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))

    @Test("later merges of a snapshot do not see samples that were received after the first one")
    func snapshot() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            _ = try store.write(Self.group([10, 20], receivedAt: 1))
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            try reader.snapshot {
                #expect(try Self.times(reader) == [10, 20])
                _ = try store.write(Self.group([5, 15, 20], receivedAt: 2))
                #expect(try Self.times(reader) == [10, 20])
            }
            #expect(try Self.times(reader) == [5, 10, 15, 20])
        }
    }

    @Test("a merge and a query read a window with more rows than one answer may have, and skip gaps")
    func longMerge() async throws {
        try await withClickHouse { server in
            let store = try Self.open(server)
            _ = try store.write(Self.group([-1_000_000_000_000], receivedAt: 1))
            store.close()
            // Within the first minute there are more rows than in one answer, and the last one is a year later.
            try await server.execute(
                """
                INSERT INTO received_accelerometer (device_id, t, x, y, z, _rank, _values_hash)
                SELECT \(DeviceRecord.id(of: Self.device)),
                    if(number = 150000, toInt64(31556952000000), toInt64(number)), 0, 0, 0, bitShiftLeft(toUInt64(1), 63), 1
                FROM numbers(150001)
                """)
            let reader = try StoreReader(ClickHouseAddress(server.url()))
            let times: [Int64] = [-1_000_000_000_000] + Array(0..<150_000) + [31_556_952_000_000]
            #expect(try Self.times(reader) == times)
            var queried: [Int64] = []
            try reader.query(stream: .accelerometer) { queried.append($0.time.microseconds) }
            #expect(queried == times)
            // Each sample has an interval of its own.
            queried = []
            try reader.query(stream: .accelerometer, detail: .averages(span: 1)) {
                queried.append($0.time.microseconds)
            }
            #expect(queried == times)
        }
    }

    @Test("a query that would never end is cancelled")
    func cancelled() async throws {
        try await withClickHouse { server in
            var address = try ClickHouseAddress(server.url())
            address.database = "system"
            let client = try ClickHouseClient(address)
            let cancellation = QueryCancellation()
            client.cancellation = cancellation
            Task.detached {
                // The query has probably begun; the result is the same if it has not.
                _ = try await server.execute("SELECT 1", in: "system")
                cancellation.cancel()
            }
            let error = #expect(throws: StoreError.self) { try client.rows("SELECT count() FROM system.numbers") }
            #expect(error?.code == .cancelled)
        }
    }

    private static func open(_ server: TestClickHouse) throws -> ClickHouseStore {
        var options = ClickHouseStore.Options()
        options.survivesPowerLoss = false
        options.minInterval = .zero
        return try ClickHouseStore(ClickHouseAddress(server.url()), options: options)
    }

    private static func group(_ times: [Int64], receivedAt second: Int64) -> IngestGroup {
        var block = SampleBlock(stream: .accelerometer)
        for time in times { block.append(time: Timestamp(microseconds: time), values: [0, 0, -1]) }
        return IngestGroup(batches: [
            ReceivedBatch(
                device: device, batch: Batch(position: nil, samples: block),
                receivedAt: Timestamp(microseconds: second * 1_000_000))
        ])
    }

    private static func times(_ reader: StoreReader) throws -> [Int64] {
        var times: [Int64] = []
        try reader.merge(streams: [.accelerometer], devices: [device], from: nil, to: nil) { row, _ in
            times.append(row.time.microseconds)
        }
        return times
    }
}
