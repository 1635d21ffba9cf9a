import LockstepModel
import LockstepSQLite
import Testing

@testable import LockstepStore

/// A store with waiting samples of several devices and streams, together with its model.
struct MergeWorkload {
    static let streams: [SensorStream] = [.accelerometer, .steps, .battery]
    static let deviceCount = 4

    let store: SQLiteStore
    private(set) var model = StoreModel(streams: streams)
    /// The groups that were written.
    private(set) var groups: [IngestGroup] = []

    /// The options of a store that does not wait for the disk.
    static var options: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.survivesPowerLoss = false
        return options
    }

    init() throws { store = try newStore(Self.options).store }

    /// The content of the store, as its own connection shows it.
    var difference: String? {
        get throws { try store.database.content(of: Self.streams).difference(from: model.content) }
    }

    /// Returns a group with new samples of every device, a repeated batch, a conflict, a report of dropped batches, a
    /// heartbeat, and estimates of clocks of which one is repeated in the next group.
    static func group(_ number: Int64) -> IngestGroup {
        var group = IngestGroup()
        for index in 0..<deviceCount {
            for stream in streams {
                // The second device sends backlog: its times decrease from group to group.
                let first = index == 1 ? 1000 - number * 3 : number * 3
                group.append(batch(stream, index, first..<first + 3, seq: number * 10 + Int64(stream.columns.count)))
            }
        }
        let times = max(0, (number - 1) * 3)..<max(0, (number - 1) * 3) + 3
        group.append(batch(.accelerometer, 0, times, seq: number * 10))
        group.append(batch(.accelerometer, 2, times, seq: nil, variant: Int(number)))
        group.dropped = [
            DroppedBatches(device: device("d0"), epoch: epoch("e"), ranges: [number * 10 + 7...number * 10 + 7])
        ]
        group.seen = [device("d3"): time(2_000_000 + number)]
        group.clocks = [("d3", number), ("d1", number), ("d3", max(0, number - 1))].map { name, number in
            let point = ClockPoint(
                collector: CollectorID(unchecked: "main"), time: time(number), segment: time(0), offset: number,
                skew: -1234, bound: 56, skewBound: 789)
            return DeviceClock(device: device(name), epoch: epoch("e"), point: point)
        }
        return group
    }

    private static func batch(
        _ stream: SensorStream, _ index: Int, _ times: Range<Int64>, seq: Int64?, variant: Int = 0
    ) -> ReceivedBatch {
        var block = SampleBlock(stream: stream)
        for offset in times { block.append(time: time(offset), values: RandomBatches.values(stream, offset, variant)) }
        return received(block, from: device("d\(index)"), epoch: "e", seq: seq)
    }

    /// Writes the next group.
    /// - Throws: the error of the store. The model does not change.
    mutating func write() throws {
        let group = Self.group(Int64(groups.count))
        let result = try store.write(group)
        #expect(result == model.write(group))
        groups.append(group)
    }

    /// Writes all groups again, and checks that they contain nothing new.
    mutating func repeatAll() throws {
        for group in groups {
            let result = try store.write(group)
            #expect(result == model.write(group))
            #expect(result.devices.values.allSatisfy { $0.stored == 0 && $0.conflicts == 0 })
        }
        #expect(try difference == nil)
    }

    /// Starts to merge what waits, and writes another group.
    mutating func startMerge() throws {
        try store.startMerge()
        try write()
    }
}
