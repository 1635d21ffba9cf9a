public import LockstepModel

/// Gives samples their timestamps, strictly increasing within a stream: a tie moves up by 1 µs.
public struct SampleStamper: Sendable {
    private var last: [SensorStream: Int64] = [:]

    public init() {}

    /// Forgets what was: after a step of the clock, timestamps may start lower.
    public mutating func startEpoch() { last.removeAll() }

    /// Puts a block with boot times on the time line; in the stream `steps` the column `start` as well.
    public mutating func stamp(_ block: SampleBlock, on line: TimeLine) -> SampleBlock {
        var newest = last[block.stream] ?? .min
        var columns = block.columns
        let startColumn = block.stream.columns.firstIndex { $0.name == "start" }
        var times: [Int64] = []
        for (index, boot) in block.times.enumerated() {
            let before = newest
            newest = max(line.timestamp(boot: boot).microseconds, newest == .min ? .min : newest + 1)
            times.append(newest)
            if let startColumn, let start = Int64(exactly: columns[startColumn][index]) {
                // The line may have slewed since the last sample: intervals stay disjoint all the same.
                let stamped = max(line.timestamp(boot: start).microseconds, before)
                columns[startColumn][index] = Double(min(stamped, newest - 1))
            }
        }
        last[block.stream] = newest
        return SampleBlock(stream: block.stream, times: times, columns: columns)
    }
}
