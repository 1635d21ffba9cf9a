import LockstepModel
import LockstepSensors

/// The samples of an agent in windows of a second: accelerometer at 100 Hz and device motion at 50 Hz from a recording,
/// and the steps of each
/// second. After its end, the recording starts again.
struct RecordedWindows {
    private static let start: Int64 = 1_764_000_000_000_000
    private var windows: [[SampleBlock]]

    /// - Parameter recordings: the folder `shared/data`.
    init(recordings: String) throws {
        let path = recordings + "/orientation/06_undisturbed_fast_rotation_A.csv"
        var graph = SensorGraph(sources: [try SensorSources.make("replay:" + path)])
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests(
            [.accelerometer: SensorRequest(rate: 100), .deviceMotion: SensorRequest(rate: 50)], for: subscriber)
        let recording = try Recording(file: path)
        let first = recording.times.first ?? 0
        let seconds = Int(((recording.times.last ?? 0) - first) / 1_000_000)
        windows = []
        for second in 0..<seconds {
            let begin = first + Int64(second) * 1_000_000
            var blocks: [SensorStream: SampleBlock] = [:]
            for block in recording.blocks {
                for output in graph.update(Self.part(of: block, begin..<begin + 1_000_000)) {
                    let samples = output.samples
                    blocks[samples.stream, default: SampleBlock(stream: samples.stream)].append(contentsOf: samples)
                }
            }
            windows.append([blocks[.accelerometer], blocks[.deviceMotion]].compactMap(\.self))
        }
        // Until the derived stream has begun.
        windows.removeFirst(10)
        guard windows.allSatisfy({ $0.count == 2 }) else { throw Failure("\(path) has gaps") }
    }

    /// The windows with steps only.
    var steps: RecordedWindows {
        var result = self
        result.windows = [[]]
        return result
    }

    /// The time at the end of a second.
    func time(of second: Int) -> Timestamp { Timestamp(microseconds: begin(of: second + 1)) }

    /// The samples of a second, one block for each stream.
    func blocks(of second: Int) -> [SampleBlock] {
        let begin = begin(of: second)
        let recorded = windows[second % windows.count].map { block in
            let shift = begin - (block.times[0] / 1_000_000) * 1_000_000
            return SampleBlock(stream: block.stream, times: block.times.map { $0 + shift }, columns: block.columns)
        }
        let steps = SampleBlock(
            stream: .steps, times: [begin + 1_000_000], columns: [[Double(begin)], [2], [1.43], [0.7], [0.71], [1.9]])
        return recorded + [steps]
    }

    private func begin(of second: Int) -> Int64 { Self.start + Int64(second) * 1_000_000 }

    private static func part(of block: SampleBlock, _ range: Range<Int64>) -> SampleBlock {
        let indices = block.times.indices.filter { range.contains(block.times[$0]) }
        guard let first = indices.first, let last = indices.last else { return SampleBlock(stream: block.stream) }
        return SampleBlock(
            stream: block.stream, times: Array(block.times[first...last]),
            columns: block.columns.map { Array($0[first...last]) })
    }
}
