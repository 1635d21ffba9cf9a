public import LockstepModel

/// Accelerometer samples in, rows of the `steps` stream out: steps, distance, pace and cadence.
///
/// A row covers (start, t] and tells the steps in it: each step covers the time from the step before, the first of a
/// walk the mean time of a step. So rows cover the time that was walked and nothing else; they follow on each other
/// within a walk, leave the pauses out, and never overlap. A row is as long as `interval`, or as the walk until it
/// ends. Steps that are known to be steps only later, as the first ones of a walk are (``StepDetector``), come in rows
/// of the time when they were taken.
///
/// | column | what |
/// |---|---|
/// | `steps` | as many as there were, never 0 |
/// | `distance` | m, of these steps: ``PedometerOptions`` says how good |
/// | `pace` | s/m, over the last six steps of the walk |
/// | `avg_pace` | s/m, of all the time walked since the beginning, without the pauses |
/// | `cadence` | steps/s, over the last six steps of the walk |
public struct PedometerEstimator: Sendable {
    /// The shortest time that a row covers, in µs, unless the walk ends.
    public let interval: Int64

    /// So long after a step, in µs, none can follow it in the same walk: longer than the longest step, and than it
    /// takes to see one.
    private static let longestPause: Int64 = 3_000_000

    private var detector = StepDetector()
    private var walk: WalkMeter
    /// The steps that no row has told yet, and the time that they cover.
    private var pending: (start: Int64, end: Int64, steps: Int, distance: Double)?
    /// The end of the last row, or the first sample, in µs: no row begins before it.
    private var told: Int64?
    /// Where steps are handed over; kept so that its memory is.
    private var steps: [Step] = []

    /// - Parameters:
    ///   - options: what is known of the person.
    ///   - interval: the shortest time that a row covers, in µs.
    /// - Precondition: `interval` is above 0.
    public init(options: PedometerOptions = PedometerOptions(), interval: Int64 = 1_000_000) {
        precondition(interval > 0, "rows cover some time")
        self.interval = interval
        walk = WalkMeter(options)
    }

    /// Takes samples of the `accelerometer` stream, in the order of their time; a sample that is not later than the one
    /// before is passed over.
    /// - Returns: the rows that are now complete, each later than all before; mostly none.
    /// - Precondition: `samples` is of the accelerometer stream.
    public mutating func update(_ samples: SampleBlock) -> SampleBlock {
        precondition(samples.stream == .accelerometer, "steps are counted in the accelerometer")
        var rows = SampleBlock(stream: .steps)
        let columns = samples.columns
        if told == nil { told = samples.times.first }
        for (index, time) in samples.times.enumerated() {
            steps.removeAll(keepingCapacity: true)
            detector.update(
                time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index], into: &steps)
            for step in steps { take(step, into: &rows) }
            // The walk has ended: what it left does not wait for the next.
            if let pending, time > pending.end, time - pending.end > Self.longestPause { close(into: &rows) }
        }
        return rows
    }

    /// The row of the steps that no row has told yet: empty, or one row that may be shorter than the interval.
    ///
    /// Swings that have not come to be a walk are dropped. Counting goes on with the next samples.
    public mutating func finish() -> SampleBlock {
        var rows = SampleBlock(stream: .steps)
        close(into: &rows)
        detector = StepDetector()
        return rows
    }

    private mutating func take(_ step: Step, into rows: inout SampleBlock) {
        // Only where time went back after `finish()`.
        if let told, step.time <= told { return }
        let start = max(step.start, told ?? step.start)
        if let pending, start > pending.end { close(into: &rows) }
        let distance = walk.add(step)
        if var row = pending {
            row.end = step.time
            row.steps += 1
            row.distance += distance
            pending = row
        } else {
            pending = (start, step.time, 1, distance)
        }
        if let pending, pending.end - pending.start >= interval { close(into: &rows) }
    }

    private mutating func close(into rows: inout SampleBlock) {
        guard let row = pending else { return }
        pending = nil
        told = row.end
        rows.append(
            time: Timestamp(microseconds: row.end),
            values: [
                Double(row.start), Double(row.steps), resolved(row.distance, decimals: 3),
                resolved(walk.pace, decimals: 3), resolved(walk.averagePace, decimals: 3),
                resolved(walk.cadence, decimals: 3),
            ])
    }
}
