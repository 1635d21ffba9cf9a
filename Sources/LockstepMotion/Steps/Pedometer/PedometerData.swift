public import LockstepModel

/// What someone walked between two times. Every value but the count may be unknown.
public struct PedometerData: Sendable, Hashable {
    public var startDate: Timestamp
    public var endDate: Timestamp
    public var numberOfSteps: Int
    /// m.
    public var distance: Double?
    /// s/m at the end of the interval; nil where the walk had ended before.
    public var currentPace: Double?
    /// s/m over the time that was walked, without the pauses; nil where nobody walked.
    public var averageActivePace: Double?
    /// Steps/s at the end of the interval; nil where the walk had ended before.
    public var currentCadence: Double?

    public init(
        startDate: Timestamp, endDate: Timestamp, numberOfSteps: Int, distance: Double? = nil,
        currentPace: Double? = nil, averageActivePace: Double? = nil, currentCadence: Double? = nil
    ) {
        self.startDate = startDate
        self.endDate = endDate
        self.numberOfSteps = numberOfSteps
        self.distance = distance
        self.currentPace = currentPace
        self.averageActivePace = averageActivePace
        self.currentCadence = currentCadence
    }
}

extension PedometerData {
    /// A row that ended at most so long before the end of the interval, in µs, tells what is current there.
    private static let current: Int64 = 3_000_000

    /// What rows of the `steps` stream tell of (from, to].
    ///
    /// A row that lies partly within gives its part in proportion of time: of `steps` over (start, t] the interval has
    /// round(steps · share up to `to`) − round(steps · share up to `from`). So the counts of intervals that follow on
    /// each other sum up to the count of the whole, whichever other rows are at hand. Distance and walked time are
    /// shared without rounding. The distance is not known where a row with a part in it does not know its own.
    /// - Parameter rows: in any order; those outside of the interval don't matter.
    /// - Returns: nil where `to` is not later than `from`.
    /// - Precondition: `rows` is of the steps stream.
    public init?(rows: SampleBlock, from: Timestamp, to: Timestamp) {
        precondition(rows.stream == .steps, "pedometer data come from rows of steps")
        guard from < to else { return nil }
        var steps = 0.0
        var distance = 0.0
        var seconds = 0.0
        var last: (time: Int64, pace: Double, cadence: Double)?
        for index in rows.times.indices {
            let row = rows.values(at: index)
            let span = Span(start: row[0], end: Double(rows.times[index]))
            let before = span.share(upTo: from)
            let after = span.share(upTo: to)
            guard after > before else { continue }
            steps += (row[1] * after).rounded() - (row[1] * before).rounded()
            distance += row[2] * (after - before)
            seconds += span.seconds * (after - before)
            if rows.times[index] > last?.time ?? .min { last = (rows.times[index], row[3], row[5]) }
        }
        // Beyond 2^53 a count would not be whole; rows of ours never come near.
        guard steps.magnitude < 0x1p53 else { return nil }
        self.init(startDate: from, endDate: to, numberOfSteps: Int(steps))
        self.distance = distance.isFinite ? distance : nil
        if distance > 0, seconds > 0, distance.isFinite { averageActivePace = seconds / distance }
        guard let last, Double(to.microseconds) - Double(last.time) <= Double(Self.current) else { return }
        currentPace = last.pace.isFinite ? last.pace : nil
        currentCadence = last.cadence.isFinite ? last.cadence : nil
    }
}

/// The time that a row covers, in µs.
private struct Span {
    let start: Double
    let end: Double

    var seconds: Double { (end - start) / 1e6 }

    /// How much of it is not later than `time`: 0…1. A row without length is all at its end.
    func share(upTo time: Timestamp) -> Double {
        let time = Double(time.microseconds)
        guard start < end else { return time >= end ? 1 : 0 }
        return min(max((time - start) / (end - start), 0), 1)
    }
}
