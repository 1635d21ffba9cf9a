import LockstepModel
import LockstepMotion
import LockstepSensors

/// The recorded walks, resampled to 100 Hz, in batches of 100 samples as an agent publishes them.
struct WalkBatches {
    /// The maximum standard deviation on each axis of a phone that is held still, in g.
    private static let stillness = 0.05
    private static let size = 100

    let still, moving: [Batch]

    /// - Parameters:
    ///   - recordings: The folder `shared/data`.
    ///   - names: Files in its folder `walks`.
    init(recordings: String, names: [String]) throws {
        var batches: [Batch] = []
        for name in names {
            let recording = try Recording(file: "\(recordings)/walks/\(name)")
            for block in recording.blocks {
                var resampler = Resampler(stream: block.stream, rate: 100)
                let samples = Self.joined([resampler.update(block), resampler.finish()])
                for start in stride(from: 0, to: samples.count - Self.size + 1, by: Self.size) {
                    let range = start..<start + Self.size
                    let piece = SampleBlock(
                        stream: samples.stream, times: Array(samples.times[range]),
                        columns: samples.columns.map { Array($0[range]) })
                    let position = BatchPosition(epoch: .random(), seq: Int64(batches.count + 1))
                    batches.append(Batch(position: position, samples: piece))
                }
            }
        }
        still = batches.filter(Self.isStill)
        moving = batches.filter { !Self.isStill($0) }
    }

    private static func joined(_ blocks: [SampleBlock]) -> SampleBlock {
        SampleBlock(
            stream: blocks[0].stream, times: blocks.flatMap(\.times),
            columns: blocks[0].columns.indices.map { index in blocks.flatMap { $0.columns[index] } })
    }

    private static func isStill(_ batch: Batch) -> Bool {
        batch.samples.columns.allSatisfy { values in
            let mean = values.reduce(0, +) / Double(values.count)
            let variance = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)
            return variance.squareRoot() <= stillness
        }
    }
}
