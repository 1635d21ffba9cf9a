public import LockstepModel

/// Assigns timestamps that strictly increase within each stream. Equal times are moved apart by 1 µs.
public struct SampleStamper: Sendable {
    private var last: [SensorStream: Int64] = [:]

    /// Creates a stamper without earlier timestamps.
    public init() {}

    /// Starts a new epoch after a clock step: later timestamps may be lower than earlier ones.
    public mutating func startEpoch() { last.removeAll() }

    /// Converts a block with boot times to the time line, including the column `start` of the stream `steps`.
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
                // The line may have slewed since the last sample, but intervals must stay disjoint.
                let stamped = max(line.timestamp(boot: start).microseconds, before)
                columns[startColumn][index] = Double(min(stamped, newest - 1))
            }
        }
        last[block.stream] = newest
        return SampleBlock(stream: block.stream, times: times, columns: columns)
    }
}
