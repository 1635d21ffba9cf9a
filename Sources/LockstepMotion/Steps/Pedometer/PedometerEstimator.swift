public import LockstepModel

/// Converts accelerometer samples to rows of the `steps` stream: steps, distance, pace and cadence.
///
/// A row covers (start, t] and counts the steps in it. Each step covers the time since the previous step; the first
/// step of a walk covers the mean duration of a step. Rows therefore cover exactly the time walked: they are adjacent
/// within a walk, leave out pauses, and never overlap. A row lasts at least `interval`, or until the walk ends. Steps
/// that are recognised late, such as the first ones of a walk (``StepDetector``), get rows at the time when they were
/// taken.
///
/// | column | content |
/// |---|---|
/// | `steps` | the number of steps, at least 1 |
/// | `distance` | the length of these steps in m; ``PedometerOptions`` describes its accuracy |
/// | `pace` | s/m, over the last six steps of the walk |
/// | `avg_pace` | s/m, over all time walked since the start, without pauses |
/// | `cadence` | steps/s, over the last six steps of the walk |
public struct PedometerEstimator: Sendable {
    /// The minimum duration of a row, in µs. The last row of a walk may be shorter.
    public let interval: Int64

    /// The time after a step, in µs, after which no step of the same walk can follow: longer than the longest step plus
    /// the detection delay.
    private static let maxStepDelay: Int64 = 3_000_000

    private var detector = StepDetector()
    private var walk: WalkStatistics
    /// The steps that are not in a row yet, and the time that they cover.
    private var pending: (start: Int64, end: Int64, steps: Int, distance: Double)?
    /// The end of the last row, or the time of the first sample before the first row, in µs. No row starts earlier.
    private var lastRowEnd: Int64?
    /// A buffer for new steps, reused to avoid allocation.
    private var steps: [Step] = []

    /// Creates an estimator in its initial state.
    ///
    /// - Parameters:
    ///   - options: known properties of the person.
    ///   - interval: the minimum duration of a row, in µs.
    /// - Precondition: `interval` is above 0.
    public init(options: PedometerOptions = PedometerOptions(), interval: Int64 = 1_000_000) {
        precondition(interval > 0, "the interval of steps rows must be above 0")
        self.interval = interval
        walk = WalkStatistics(options)
    }

    /// Processes samples of the `accelerometer` stream in order of time. Samples that are not later than the previous
    /// one are ignored.
    ///
    /// - Returns: the rows that are now complete, in order of time and later than all previous rows; usually none.
    /// - Precondition: `samples` belongs to the accelerometer stream.
    public mutating func update(_ samples: SampleBlock) -> SampleBlock {
        precondition(samples.stream == .accelerometer, "steps are counted from accelerometer samples")
        var rows = SampleBlock(stream: .steps)
        let columns = samples.columns
        if lastRowEnd == nil { lastRowEnd = samples.times.first }
        for (index, time) in samples.times.enumerated() {
            steps.removeAll(keepingCapacity: true)
            detector.update(
                time: time, x: columns[0][index], y: columns[1][index], z: columns[2][index], into: &steps)
            for step in steps { add(step, into: &rows) }
            // The walk has ended, so its last steps need not wait for the next walk.
            if let pending, time > pending.end, time - pending.end > Self.maxStepDelay { finishRow(into: &rows) }
        }
        return rows
    }

    /// Returns the pending steps as a row, which may be shorter than the interval, or an empty block if there are none.
    ///
    /// Swings that do not form a walk yet are dropped. Counting continues with the next samples.
    public mutating func finish() -> SampleBlock {
        var rows = SampleBlock(stream: .steps)
        finishRow(into: &rows)
        detector = StepDetector()
        return rows
    }

    private mutating func add(_ step: Step, into rows: inout SampleBlock) {
        // Possible only if time went back after `finish()`.
        if let lastRowEnd, step.time <= lastRowEnd { return }
        let start = max(step.start, lastRowEnd ?? step.start)
        if let pending, start > pending.end { finishRow(into: &rows) }
        let distance = walk.add(step)
        if var row = pending {
            row.end = step.time
            row.steps += 1
            row.distance += distance
            pending = row
        } else {
            pending = (start, step.time, 1, distance)
        }
        if let pending, pending.end - pending.start >= interval { finishRow(into: &rows) }
    }

    private mutating func finishRow(into rows: inout SampleBlock) {
        guard let row = pending else { return }
        pending = nil
        lastRowEnd = row.end
        rows.append(
            time: Timestamp(microseconds: row.end),
            values: [
                Double(row.start), Double(row.steps), resolved(row.distance, decimals: 3),
                resolved(walk.pace, decimals: 3), resolved(walk.averagePace, decimals: 3),
                resolved(walk.cadence, decimals: 3),
            ])
    }
}
