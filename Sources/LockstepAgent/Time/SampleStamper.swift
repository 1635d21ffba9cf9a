public import LockstepModel

/// Gives samples their timestamps, strictly increasing within a stream: a tie moves up by 1 µs.
public struct SampleStamper: Sendable {
    private var last: [SensorStream: Int64] = [:]

    public init() {}

    /// Forgets what was: after a step of the clock, timestamps may start lower.
    public mutating func startEpoch() { last.removeAll() }

    /// Puts a block with boot times on the time line.
    public mutating func stamp(_ block: SampleBlock, on line: TimeLine) -> SampleBlock {
        var newest = last[block.stream] ?? .min
        let times = block.times.map { boot in
            newest = max(line.timestamp(boot: boot).microseconds, newest == .min ? .min : newest + 1)
            return newest
        }
        last[block.stream] = newest
        return SampleBlock(stream: block.stream, times: times, columns: block.columns)
    }
}
