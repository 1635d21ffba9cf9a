import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Inserts of samples")
struct InsertTests {
    @Test("the rows of several devices are in the order of the sorting key")
    func order() {
        var rows = SampleRows(.pressure)
        append([3, 4], device: 7, to: &rows)
        append([1], device: -2, to: &rows)
        append([5], device: 7, to: &rows)
        #expect(rows.count == 4)
        let body = rows.encoded()
        // Two numbers, then for each column its name and its type.
        let head = [5, 4] + text("device_id") + text("Int64")
        #expect(body.starts(with: head))
        #expect(numbers(body.dropFirst(head.count)) == [-2, 7, 7, 7])
        let second = head.count + 32
        let name = text("t") + text("Int64")
        #expect(body.dropFirst(second).starts(with: name))
        #expect(numbers(body.dropFirst(second + name.count)) == [1, 3, 4, 5])
    }

    @Test("a nullable column has a byte for each row in front, and unknown values are NULL")
    func unknown() {
        let body = NativeBlock.encoded(rows: 3, columns: 1, capacity: 3 * 9) { block in
            block.beginColumn("x", "Nullable(Float64)")
            block.append(nullable: [.nan, -0.0, 1], [1..<3, 0..<1])
        }
        let values =
            Array(repeating: UInt8(0), count: 8) + [0, 0, 0, 0, 0, 0, 0xF0, 0x3F] + Array(repeating: 0, count: 8)
        #expect(body == [1, 3] + text("x") + text("Nullable(Float64)") + [0, 0, 1] + values)
        let words = NativeBlock.encoded(rows: 2, columns: 1, capacity: 40) { block in
            block.beginColumn("w", "Nullable(String)")
            block.append(nullableTexts: [1, .nan], [0..<2]) { $0.isNaN ? nil : "ab" }
        }
        #expect(words == [1, 2] + text("w") + text("Nullable(String)") + [0, 1] + text("ab") + [0])
    }

    @Test(
        "if one of several inserts fails, the error is thrown, and nothing of the commit counts as received",
        .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
    func oneFails() async throws {
        try await withClickHouse { server in
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            options.minInterval = .zero
            let store = try ClickHouseStore(try ClickHouseAddress(server.url()), options: options)
            try await server.execute("RENAME TABLE received_pressure TO hidden")
            #expect(throws: StoreError.self) { try store.write(Self.group(seq: 1)) }
            #expect(try await server.execute("SELECT count() FROM received_batches") == ["0"])
            try await server.execute("RENAME TABLE hidden TO received_pressure")
            let result = try store.write(Self.group(seq: 1))
            #expect(result.scopes.map(\.received) == [SequenceSet([1...Int64(Self.streams.count)])])
            for stream in Self.streams {
                #expect(
                    try await server.execute("SELECT t FROM \(stream.table) ORDER BY t") == ["1", "2"], "\(stream)")
            }
        }
    }

    @Test(
        "late samples, duplicates and conflicts within a transaction are recognised",
        .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
    func late() async throws {
        try await withClickHouse { server in
            var options = ClickHouseStore.Options()
            options.survivesPowerLoss = false
            let store = try ClickHouseStore(try ClickHouseAddress(server.url()), options: options)
            try store.add(Self.group(seq: 1, times: 10..<1000, z: 1))
            try store.add(Self.group(seq: 2, times: 0..<20, z: 1))
            try store.add(Self.group(seq: 3, times: 5..<6, z: 2))
            try store.add(Self.group(seq: 4, times: 990..<1010, z: 1))
            let result = try store.commit()
            let counts = IngestResult.Counts(stored: 1010, duplicates: 20, conflicts: 1)
            #expect(result.counts.map(\.counts) == [counts])
            #expect(try await server.execute("SELECT count(), sum(pressure) FROM pressure") == ["1010\t1010"])
        }
    }

    @Test(
        "inserts into several tables go to the next server if one does not answer",
        .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
    func failover() async throws {
        try await withClickHouse { server in
            let refusing = try RefusingPort()
            let servers = server.url().replacing("127.0.0.1", with: "127.0.0.1:\(refusing.number),127.0.0.1")
            let client = try ClickHouseClient(ClickHouseAddress(servers))
            try await server.execute("CREATE DATABASE IF NOT EXISTS lockstep", in: "default")
            for table in ["a", "b", "c", "d", "e"] {
                try await server.execute("CREATE TABLE lockstep.\(table) (n UInt64) ENGINE = MergeTree ORDER BY n")
            }
            let rows: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0]
            try client.insert(["a", "b", "c", "d", "e"].map { TableInsert(rows, into: $0, columns: ["n"]) })
            for table in ["a", "b", "c", "d", "e"] {
                #expect(try await server.execute("SELECT n FROM lockstep.\(table)") == ["1"], "\(table)")
            }
        }
    }

    private static let streams = [SensorStream.accelerometer, .gyroscope, .pressure, .magnetometer, .orientation]

    private static func group(seq: Int64) -> IngestGroup {
        let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))
        let batches = streams.enumerated().map { index, stream in
            let block = SampleBlock(stream: stream, times: [1, 2], columns: stream.columns.map { _ in [0, 1] })
            let position = BatchPosition(epoch: Epoch(unchecked: "e"), seq: seq + Int64(index))
            return ReceivedBatch(
                device: device, batch: Batch(position: position, isLive: true, samples: block),
                receivedAt: Timestamp(microseconds: 1))
        }
        return IngestGroup(batches: batches)
    }

    private static func group(seq: Int64, times: Range<Int>, z: Double) -> IngestGroup {
        let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))
        let block = SampleBlock(stream: .pressure, times: times.map(Int64.init), columns: [times.map { _ in z }])
        let position = BatchPosition(epoch: Epoch(unchecked: "e"), seq: seq)
        return IngestGroup(batches: [
            ReceivedBatch(
                device: device, batch: Batch(position: position, isLive: true, samples: block),
                receivedAt: Timestamp(microseconds: 1))
        ])
    }

    private func append(_ times: [Int64], device: Int64, to rows: inout SampleRows) {
        let block = SampleBlock(
            stream: rows.stream, times: times, columns: rows.stream.columns.map { _ in times.map { _ in 0 } })
        rows.append(
            device: device, block, times.indices, hashes: SampleHasher(rows.stream).hashes(of: block),
            receivedAt: Timestamp(microseconds: 0), isConflict: false)
    }

    private func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    private func numbers(_ bytes: ArraySlice<UInt8>) -> [Int64] {
        Array(bytes.prefix(32)).withUnsafeBytes { bytes in
            (0..<4).map { bytes.loadUnaligned(fromByteOffset: 8 * $0, as: Int64.self) }
        }
    }
}
