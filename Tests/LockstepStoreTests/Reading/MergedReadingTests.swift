import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Reading several streams merged by time", .temporaryFolder)
struct MergedReadingTests {
    private static let streams: [SensorStream] = [.accelerometer, .gyroscope, .magnetometer]

    /// Creates a store with random samples in tables and waiting ones. Returns the expected order of the samples.
    private func randomStore(seed: UInt64) throws -> (store: SQLiteStore, rows: [String]) {
        var random = SplitMix64(seed: seed)
        let store = try newStore(MergeWorkload.options).store
        var rows: [(time: Int64, device: Int, stream: Int)] = []
        for part in 0..<3 {
            for index in 0..<5 {
                for (number, stream) in Self.streams.enumerated() where Bool.random(using: &random) {
                    let times = Set((0..<20).map { _ in Int64.random(in: 0..<60, using: &random) * 3 + Int64(part) })
                        .sorted()
                    let block = SampleBlock(
                        stream: stream, times: times.map { start + $0 },
                        columns: Array(repeating: times.map(Double.init), count: 3))
                    try store.write(received(block, from: device("d\(index)")))
                    rows += times.map { ($0, index, number) }
                }
            }
            guard part < 2 else { continue }
            if part == 0 { try store.mergeAll() } else { try store.startMerge() }
            try store.finishMerge()
        }
        rows.sort { ($0.time, $0.device, $0.stream) < ($1.time, $1.device, $1.stream) }
        return (store, rows.map { "d\($0.device) \($0.stream) \($0.time)" })
    }

    private func merged(
        _ reader: StoreReader, _ devices: [String], from: Int64? = nil, to: Int64? = nil
    ) throws -> [String] {
        var rows: [String] = []
        try reader.merge(
            streams: Self.streams, devices: devices.map { device($0) }, from: from.map(time), to: to.map(time)
        ) { row, stream in
            #expect(row.values == Array(repeating: Double(row.time.microseconds - start), count: 3))
            rows.append("\(row.device.device) \(stream) \(row.time.microseconds - start)")
        }
        return rows
    }

    @Test(
        "samples are in order of time, then device, then stream, from tables and what waits",
        arguments: 1...10 as ClosedRange<UInt64>)
    func order(seed: UInt64) throws {
        let (store, rows) = try randomStore(seed: seed)
        let reader = try StoreReader(path: store.path)
        let all = (0..<5).map { "d\($0)" }
        #expect(try merged(reader, all) == rows)
        #expect(try merged(reader, ["d1", "nobody"]) == rows.filter { $0.hasPrefix("d1 ") })
        let inner = rows.filter { (20..<90).contains(Int($0.split(separator: " ")[2]) ?? 0) }
        #expect(try merged(reader, all, from: 20, to: 90) == inner)
        #expect(try merged(reader, all, from: 90, to: 20) == [])
    }

    @Test("the time range of each device covers tables and what waits", arguments: 1...10 as ClosedRange<UInt64>)
    func ranges(seed: UInt64) throws {
        let (store, rows) = try randomStore(seed: seed)
        let reader = try StoreReader(path: store.path)
        for (from, to) in [(0, 1000), (50, 100)] as [(Int64, Int64)] {
            for (number, stream) in Self.streams.enumerated() {
                var expected: [DeviceAddress: ClosedRange<Timestamp>] = [:]
                for row in rows {
                    let parts = row.split(separator: " ")
                    guard let offset = Int64(parts[2]), parts[1] == "\(number)", (from..<to).contains(offset) else {
                        continue
                    }
                    let address = device(String(parts[0]))
                    let first = expected[address]?.lowerBound ?? time(offset)
                    expected[address] = first...time(offset)
                }
                let ranges = try reader.timeRanges(
                    of: stream, devices: (0..<6).map { device("d\($0)") }, from: time(from), to: time(to))
                #expect(ranges == expected)
            }
        }
    }

    @Test("an error of the consumer ends the reading, and the reader can be used again")
    func consumerThrows() throws {
        struct Stop: Error {}
        let (store, rows) = try randomStore(seed: 3)
        let reader = try StoreReader(path: store.path)
        #expect(throws: Stop.self) {
            try reader.snapshot {
                try reader.merge(streams: Self.streams, devices: [device("d1"), device("d2")]) { _, _ in throw Stop() }
            }
        }
        #expect(try merged(reader, (0..<5).map { "d\($0)" }) == rows)
    }

    @Test("a snapshot does not see later commits")
    func snapshot() throws {
        let (store, path) = try newStore()
        try store.write(received(acceleration([1, 2])))
        let reader = try StoreReader(path: path)
        func count() throws -> Int {
            var count = 0
            try reader.merge(streams: [.accelerometer], devices: [device("one")]) { _, _ in count += 1 }
            return count
        }
        try reader.snapshot {
            #expect(try count() == 2)
            try store.write(received(acceleration([3])))
            #expect(try count() == 2)
        }
        #expect(try count() == 3)
    }
}
