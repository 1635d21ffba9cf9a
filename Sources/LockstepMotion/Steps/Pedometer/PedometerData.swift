public import LockstepModel

/// The steps taken, the distance walked and the floors climbed in an interval of time. All values except the step count are nil if unknown.
public struct PedometerData: Sendable, Hashable {
    /// The start of the interval.
    public var startDate: Timestamp
    /// The end of the interval.
    public var endDate: Timestamp
    /// The number of steps in the interval.
    public var numberOfSteps: Int
    /// The distance walked, in m.
    public var distance: Double?
    /// The pace at the end of the interval, in s/m; nil if the walk had already ended.
    public var currentPace: Double?
    /// The pace averaged over the time walked, without pauses, in s/m; nil if there was no walk.
    public var averageActivePace: Double?
    /// The cadence at the end of the interval, in steps/s; nil if the walk had already ended.
    public var currentCadence: Double?
    /// The number of floors climbed up, by stairs or a slope.
    public var floorsAscended: Int?
    /// The number of floors climbed down.
    public var floorsDescended: Int?

    /// Creates data from its values.
    public init(
        startDate: Timestamp, endDate: Timestamp, numberOfSteps: Int, distance: Double? = nil,
        currentPace: Double? = nil, averageActivePace: Double? = nil, currentCadence: Double? = nil,
        floorsAscended: Int? = nil, floorsDescended: Int? = nil
    ) {
        self.startDate = startDate
        self.endDate = endDate
        self.numberOfSteps = numberOfSteps
        self.distance = distance
        self.currentPace = currentPace
        self.averageActivePace = averageActivePace
        self.currentCadence = currentCadence
        self.floorsAscended = floorsAscended
        self.floorsDescended = floorsDescended
    }
}

extension PedometerData {
    /// The maximum time, in µs, from the last row to the end of the interval. If the last row is older, its pace and
    /// cadence are not current.
    private static let maxCurrentAge: Int64 = 3_000_000

    /// Summarises rows of the `steps` stream over the interval after `from`, up to `to`.
    ///
    /// A row that lies partly within the interval contributes in proportion to the time it overlaps. Its steps in the
    /// interval are round(steps · fraction up to `to`) − round(steps · fraction up to `from`), so that the counts of
    /// adjacent intervals add up to the count of both. Distance and walking time are not rounded. The distance is nil
    /// if the distance of a contributing row is unknown.
    ///
    /// - Parameter rows: in any order. Rows outside of the interval are ignored.
    /// - Returns: nil if `to` is not later than `from`.
    /// - Precondition: `rows` belongs to the steps stream.
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
        // Beyond 2^53 a count is not exact. Valid rows never come near.
        guard steps.magnitude < 0x1p53 else { return nil }
        self.init(startDate: from, endDate: to, numberOfSteps: Int(steps))
        self.distance = distance.isFinite ? distance : nil
        if distance > 0, seconds > 0, distance.isFinite { averageActivePace = seconds / distance }
        guard let last, Double(to.microseconds) - Double(last.time) <= Double(Self.maxCurrentAge) else { return }
        currentPace = last.pace.isFinite ? last.pace : nil
        currentCadence = last.cadence.isFinite ? last.cadence : nil
    }
}

/// The interval that a row covers, in µs.
private struct Span {
    let start: Double
    let end: Double

    var seconds: Double { (end - start) / 1e6 }

    /// Returns the fraction of the interval up to `time`, 0…1. An interval of length 0 counts as a whole at its end.
    func share(upTo time: Timestamp) -> Double {
        let time = Double(time.microseconds)
        guard start < end else { return time >= end ? 1 : 0 }
        return min(max((time - start) / (end - start), 0), 1)
    }
}
