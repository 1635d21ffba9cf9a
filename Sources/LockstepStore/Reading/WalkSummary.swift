public import LockstepModel

/// The steps of one device in a time range. A value is nil if it is unknown.
public struct WalkSummary: Hashable, Sendable {
    /// The number of steps.
    public var steps: Int64?
    /// The distance walked, in m.
    public var distance: Double?
    /// The duration of the intervals with a distance divided by that distance, in s/m.
    public var averagePace: Double?
    /// The pace of the newest sample in the range, in s/m.
    public var pace: Double?
    /// The cadence of the newest sample in the range, in steps/s.
    public var cadence: Double?
    /// The number of floors climbed up.
    public var floorsAscended: Int64?
    /// The number of floors climbed down.
    public var floorsDescended: Int64?
    /// The time of the newest sample of steps in the range.
    public var newest: Timestamp?

    package init(
        steps: Int64? = nil, distance: Double? = nil, averagePace: Double? = nil, pace: Double? = nil,
        cadence: Double? = nil, floorsAscended: Int64? = nil, floorsDescended: Int64? = nil, newest: Timestamp? = nil
    ) {
        self.steps = steps
        self.distance = distance
        self.averagePace = averagePace
        self.pace = pace
        self.cadence = cadence
        self.floorsAscended = floorsAscended
        self.floorsDescended = floorsDescended
        self.newest = newest
    }
}
