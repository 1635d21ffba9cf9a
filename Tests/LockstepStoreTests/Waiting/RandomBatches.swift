@testable import LockstepModel
@testable import LockstepStore

/// Random groups of batches: live data and backlog of many devices and streams, repeated, changed, unsorted and empty
/// batches, and runs below and above the size from which they are written directly.
struct RandomBatches {
    /// Streams with few and many columns, with words, integers and null values.
    static let streams: [SensorStream] = [
        .accelerometer, .battery, .steps, .deviceMotion,
        SensorStream(
            name: "spectrum", table: "spectrum", summary: "Spectrum",
            columns: (1...25).map { .init(name: "band\($0)", kind: .real, unit: "", isRequired: true, summary: "") }),
    ]

    private struct Series: Hashable {
        let device: String
        let stream: SensorStream
    }

    var random: SplitMix64
    /// The number of groups so far.
    private var groups = 0
    private var newest: [Series: Int64] = [:]
    private var numbers: [String: Int64] = [:]
    private var sent: [ReceivedBatch] = []

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func chance(_ percent: UInt64) -> Bool { random.next() % 100 < percent }

    /// Returns the next group. The number of devices grows, so that there are always new ones.
    mutating func group() -> IngestGroup {
        groups += 1
        var group = IngestGroup()
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            var batch = chance(15) ? sent.randomElement(using: &random) ?? batch() : batch()
            batch.receivedAt = receivedAt
            sent.append(batch)
            group.append(batch)
        }
        if chance(25) {
            let first = Int64.random(in: 1...60, using: &random)
            group.dropped = [
                DroppedBatches(device: device(name()), epoch: epoch(epochName()), ranges: [first...(first + 3)])
            ]
            // A report comes in a message of its own.
            group.seen[group.dropped[0].device] = receivedAt
        }
        if chance(25) { group.seen[device(name())] = receivedAt }
        return group
    }

    /// Splits a group into one to three parts of one transaction.
    mutating func parts(of group: IngestGroup) -> [IngestGroup] {
        var parts = Array(repeating: IngestGroup(), count: Int.random(in: 1...3, using: &random))
        var part = 0
        for batch in group.batches {
            part = Int.random(in: part..<parts.count, using: &random)
            parts[part].append(batch)
        }
        parts[part].dropped = group.dropped
        parts[part].seen = group.seen
        return parts
    }

    private var receivedAt: Timestamp { time(1_000_000 + Int64(groups) * 1000) }
    private mutating func name() -> String { "d\(random.next() % UInt64(min(24, 2 + groups / 5)))" }
    private mutating func epochName() -> String { "e\(random.next() % 2)" }

    private mutating func batch() -> ReceivedBatch {
        let stream = Self.streams.randomElement(using: &random) ?? .accelerometer
        let series = Series(device: name(), stream: stream)
        let next = (newest[series] ?? 0) + 1
        var count = Int64.random(in: 1...6, using: &random)
        if chance(4) { count = Int64(SQLiteStore.directSize / stream.rowSize) + 1 }
        if chance(3) { count = 0 }
        let first = chance(25) ? Int64.random(in: 0...next, using: &random) : next + .random(in: 0...2, using: &random)
        var times = Array(first..<first + count)
        if chance(10) { times.shuffle(using: &random) }
        if chance(10), let time = times.randomElement(using: &random) { times.append(time) }
        newest[series] = max(next - 1, times.max() ?? 0)
        let variant = chance(10) ? 1 : 0
        var block = SampleBlock(stream: stream)
        for offset in times { block.append(time: time(offset), values: Self.values(stream, offset, variant)) }
        let epochName = epochName()
        let key = "\(series.device) \(epochName)"
        numbers[key, default: 0] += chance(10) ? 2 : 1
        let seq: Int64? =
            chance(10) ? nil : chance(2) ? 0 : chance(10) ? .random(in: 1...60, using: &random) : numbers[key]
        let position = seq.map { BatchPosition(epoch: epoch(epochName), seq: $0) }
        return ReceivedBatch(
            device: device(series.device), batch: Batch(position: position, samples: block), receivedAt: receivedAt)
    }

    /// Returns values that depend on the time only, so that overlapping batches are equal unless `variant` differs.
    static func values(_ stream: SensorStream, _ time: Int64, _ variant: Int) -> [Double] {
        stream.columns.enumerated().map { index, column in
            if !column.isRequired, (time + Int64(index)) % 5 == 0 { return .nan }
            let number = Double((time + Int64(index)) % 8)
            return switch column.kind {
            case .real: number * 0.5 + Double(100 * variant)
            case .integer: number + Double(100 * variant)
            case .choice(let words): Double((Int(time) + variant) % words.count)
            }
        }
    }
}
