/// A step, determined from the samples before and after it.
public struct RefinedStep: Sendable, Hashable {
    /// The time of the step's peak without the delay of a filter, in µs.
    public var time: Int64
    /// The time of the previous step, in µs. For the first step of a walk: ``time`` minus the mean duration of the next
    /// steps.
    public var start: Int64
    /// The time of the first step of the walk, in µs.
    public var walk: Int64
    /// The cadence over up to three steps before and after, in steps/s.
    public var cadence = 0.0
    /// The length of the step, in m; ``PedometerOptions`` describes its accuracy.
    public var length = 0.0

    /// The duration of the step, in s.
    public var duration: Double { Double(time - start) / 1e6 }
}
