public import LockstepModel

/// Accelerometer samples in, samples of the `steps` stream out.
///
/// A row says how many steps there were in (start, t]: at most one row an interval, and only where there were steps.
/// Rows never overlap. Of the other columns only the cadence is filled: steps by the length of the row.
public struct StepAccumulator: Sendable {
    /// The shortest time that a row covers, in µs, unless the samples pause.
    public let interval: Int64
    /// Samples further apart than this, in µs, are not taken for one stretch: a row ends before the gap.
    private static let longestGap: Int64 = 2_000_000

    private var counter = SimpleStepCounter()
    private var start: Int64?
    private var last: Int64 = 0
    private var steps = 0

    /// - Parameter interval: the shortest time that a row covers, in µs.
    public init(interval: Int64 = 1_000_000) { self.interval = interval }

    /// Takes samples of the `accelerometer` stream, in the order of their time; a sample that is not later than the one
    /// before is passed over.
    /// - Returns: rows that are now complete, timed as the samples are; mostly none.
    /// - Precondition: `samples` is of the accelerometer stream.
    public mutating func update(_ samples: SampleBlock) -> SampleBlock {
        precondition(samples.stream == .accelerometer, "steps are counted in the accelerometer")
        var rows = SampleBlock(stream: .steps)
        for (index, time) in samples.times.enumerated() {
            if start != nil, time <= last { continue }
            if start == nil || time - last > Self.longestGap {
                close(into: &rows)
                start = time
            }
            last = time
            let columns = samples.columns
            if counter.update(time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index]) {
                steps += 1
            }
            if let start, time - start >= interval { close(into: &rows) }
        }
        return rows
    }

    /// The row of the steps that no row has told yet: empty, or one row that may be shorter than the interval.
    public mutating func finish() -> SampleBlock {
        var rows = SampleBlock(stream: .steps)
        close(into: &rows)
        return rows
    }

    /// Ends the row that runs at the last sample, and begins the next there.
    private mutating func close(into rows: inout SampleBlock) {
        if let start, steps > 0, last > start {
            let cadence = resolved(Double(steps) / (Double(last - start) / 1e6), decimals: 4)
            rows.append(
                time: Timestamp(microseconds: last),
                values: [Double(start), Double(steps), .nan, .nan, .nan, cadence])
            steps = 0
        }
        start = start == nil ? nil : last
    }
}
