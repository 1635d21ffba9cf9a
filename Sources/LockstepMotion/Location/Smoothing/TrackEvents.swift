/// A velocity by steps and heading, as through gaps between fixes.
public struct StepVelocity: Sendable, Hashable {
    /// The end of the steps, in µs.
    public var time: Int64
    /// The speed by the length and duration of the steps, in m/s.
    public var speed: Double
    /// The direction in which the device points, in degrees clockwise from north.
    public var heading: Double

    /// Creates a velocity.
    public init(time: Int64, speed: Double, heading: Double) {
        self.time = time
        self.speed = speed
        self.heading = heading
    }
}

/// A position estimated from the fixes and steps before and after it.
public struct SmoothedPosition: Sendable, Hashable {
    /// The time, in µs.
    public var time: Int64
    /// The position.
    public var coordinate: Coordinate
    /// The horizontal accuracy in m, with 95 % confidence, if the errors of fixes are independent of each other.
    public var accuracy: Double
    /// The speed over ground, in m/s.
    public var speed: Double
    /// The course over ground, in degrees clockwise from true north; nil if the speed is too low to know it.
    public var course: Double?
    /// Whether there is a fix at this time.
    public var hasFix: Bool
    /// Whether that fix was rejected as an outlier.
    public var isRejected = false
}

/// The tuning of ``TrackSmoother``.
public struct TrackSmootherParameters: Sendable, Hashable {
    /// How much the velocity changes in a second, in m/s: about 0.5 for pedestrians, 2 for vehicles.
    public var acceleration = 1.0
    /// The accuracy of a fix that states none, in m, with 95 % confidence.
    public var unknownAccuracy = 20.0
    /// The standard deviation of the receiver's velocity along each axis, in m/s, of which receivers state no accuracy.
    public var velocityDeviation = 0.5
    /// The standard deviation of the velocity by steps along each axis, in m/s: 10° of the heading.
    public var stepDeviation = 0.2
    /// The square of the distance, in standard deviations, from which a fix is an outlier: one in a thousand good fixes
    /// exceeds it (χ² with two degrees of freedom).
    public var gate = 13.8
    /// The number of consecutive outliers that are believed, if they form a track.
    public var confirmations = 5
    /// The longest time without fix or step within a part, in µs.
    public var maxGap: Int64 = 600_000_000

    /// Creates the default parameters.
    public init() {}
}
