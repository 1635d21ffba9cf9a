import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepModel
@testable import LockstepStore

@Suite("Reading what waits", .temporaryFolder)
struct WaitingReadingTests {
    /// Creates a store with rows in tables and waiting ones, in the middle of a merge.
    private func store(seed: UInt64) throws -> SQLiteStore {
        let store = try SQLiteStore(
            path: TemporaryFolder.path + "/store", options: MergeWorkload.options,
            streams: SensorStream.builtIn + RandomBatches.streams.suffix(1))
        var batches = RandomBatches(seed: seed)
        for round in 0..<5 {
            for number in 0..<25 {
                var group = batches.group()
                group.clocks = (0..<3).map { index in
                    // The clock of the second device is set back again and again.
                    let moment = Int64(index == 1 ? 1000 - round * 25 - number : round * 25 + number)
                    return DeviceClock(
                        device: device("d\(index)"), epoch: epoch("e\(round)"),
                        point: ClockPoint(
                            collector: CollectorID(unchecked: "main"), time: time(moment),
                            segment: time(0), offset: Int64(round), skew: 1, bound: 2, skewBound: 3))
                }
                try store.write(group)
            }
            if round == 1 { try store.mergeAll() }
            if round == 3 {
                try store.startMerge()
                for _ in 0..<4 { try store.mergeSlice(maxDuration: .zero) }
            }
        }
        #expect(store.isMerging)
        return store
    }

    /// Everything that a reader shows, as text.
    private func content(_ reader: StoreReader) throws -> [String] {
        var lines: [String] = []
        let devices = try reader.devices()
        lines += devices.map { "\($0)" }
        lines += try reader.overviews().map { overview in
            let newest = overview.newest.sorted { $0.key < $1.key }.map { "\($0)" }
            return "\(overview.device) \(newest) \(overview.battery as Any) \(overview.position as Any)"
        }
        lines += try reader.verification().map { "\($0)" }
        lines += try reader.newestClocks().map { "\($0)" }
        for address in devices.map(\.address) {
            let points = try reader.clockPoints(of: address, from: nil, to: nil, on: .collector)
            lines.append("\(address) \(points)")
        }
        for stream in RandomBatches.streams {
            for detail in [QueryDetail.samples, .last] + (stream == .accelerometer ? [.averages(span: 7)] : []) {
                for (from, to) in [(nil, nil), (time(20), time(60)), (nil, time(45))] as [(Timestamp?, Timestamp?)] {
                    try reader.query(stream: stream, detail: detail, from: from, to: to) { row in
                        lines.append("\(stream) \(detail) \(row)")
                    }
                }
            }
            let ranges = try reader.timeRanges(of: stream, devices: devices.map(\.address))
            lines += ranges.map { "\(stream) \($0)" }.sorted()
        }
        return lines
    }

    @Test("a query that is cancelled while it finds what waits hides nothing from the next one")
    func cancelled() throws {
        let (store, path) = try newStore(MergeWorkload.options)
        let reader = try StoreReader(path: path)
        var group = IngestGroup()
        for number in 0..<1000 { group.append(received(acceleration([1]), from: device("d\(number)"))) }
        try store.write(group)
        let interruption = SQLiteInterruption()
        interruption.interrupt()
        let waiting = try #require(try reader.sqlite.waiting.stream(.accelerometer))
        #expect(throws: SQLiteError.self) {
            try reader.database.interruptible(by: interruption) { try waiting.newestTimes() }
        }
        #expect(try waiting.newestTimes().count == 1000)
    }

    @Test(
        "every reader shows the same before, during and after a merge, whether it was open before or not",
        arguments: 1...3 as ClosedRange<UInt64>)
    func readers(seed: UInt64) throws {
        let store = try store(seed: seed)
        let open = try StoreReader(path: store.path)
        let expected = try content(open)
        #expect(expected.count > 500)
        func compare(_ what: String) throws {
            for reader in [open, try StoreReader(path: store.path)] {
                let found = try content(reader)
                let difference = zip(found, expected).first { $0 != $1 }
                try #require(found.count == expected.count && difference == nil, "\(what): \(difference as Any)")
            }
        }
        for slice in 0..<3 {
            try store.mergeSlice(maxDuration: .zero)
            try compare("slice \(slice)")
        }
        try store.finishMerge()
        try compare("merged")
        try store.mergeAll()
        try compare("everything merged")
    }
}
