import LockstepTestSupport

@testable import LockstepModel
@testable import LockstepStore

/// A store with random batches, and a list of its samples in which everything is searched by brute force.
struct HistoryModel {
    struct Sample {
        let device: String
        let stream: SensorStream
        /// The time in µs after ``start``.
        let time: Int64
        let values: [Double]
    }

    let store: SQLiteStore
    var batches: RandomBatches
    private(set) var samples: [Sample] = []
    private var known: Set<String> = []

    init(seed: UInt64) throws {
        let path = TemporaryFolder.path + "/store"
        store = try SQLiteStore(
            path: path, options: MergeWorkload.options,
            streams: SensorStream.builtIn + RandomBatches.streams.suffix(1))
        batches = RandomBatches(seed: seed)
    }

    /// Writes a random group, and sometimes starts or continues a merge.
    mutating func step() throws {
        let group = batches.group()
        try write(group)
        if !store.isMerging, batches.chance(10) { try store.startMerge() }
        if store.isMerging, batches.chance(50) { try store.mergeSlice(maxDuration: .zero) }
    }

    mutating func write(_ group: IngestGroup) throws {
        _ = try store.write(group)
        for batch in group.batches {
            let block = batch.batch.samples
            for index in block.times.indices {
                let device = batch.device.device.rawValue
                guard known.insert("\(device) \(block.stream) \(block.times[index])").inserted else { continue }
                samples.append(
                    Sample(
                        device: device, stream: block.stream, time: block.times[index] - start,
                        values: zip(block.stream.columns, block.values(at: index)).map { $0.kind.normalized($1) }))
            }
        }
    }

    /// The samples of a device and stream in a range of times after ``start``, in order of time.
    func samples(_ device: String, _ stream: SensorStream, _ times: Range<Int64>) -> [Sample] {
        samples.filter { $0.device == device && $0.stream == stream && times.contains($0.time) }
            .sorted { $0.time < $1.time }
    }

    /// The lines `start|samples|min|max|…` of an envelope.
    func envelope(_ query: EnvelopeQuery) -> [String] {
        let columns = query.stream.columns.indices.filter { query.stream.columns[$0].kind.words == nil }
        let range = query.from.microseconds - start..<query.to.microseconds - start
        let samples = samples(query.device.device.rawValue, query.stream, range)
        return (0..<Int64(query.points)).compactMap { bucket in
            let first = range.lowerBound + bucket * query.width
            let rows = samples.filter { $0.time >= first && $0.time < first + query.width }
            guard !rows.isEmpty else { return nil }
            let extremes = columns.flatMap { column in
                let values = rows.map { $0.values[column] }.filter { !$0.isNaN }
                return [values.min() ?? .nan, values.max() ?? .nan]
            }
            return Envelope.line(first, Int64(rows.count), extremes)
        }
    }
}

extension Envelope {
    static func line(_ first: Int64, _ samples: Int64, _ values: some Sequence<Double>) -> String {
        "\(first)|\(samples)|" + values.map { "\($0)" }.joined(separator: "|")
    }

    /// The lines `start|samples|min|max|…`, with the start in µs after the start of the tests.
    var lines: [String] { buckets.map { Self.line($0.start.microseconds - start, $0.samples, $0.values) } }
}
