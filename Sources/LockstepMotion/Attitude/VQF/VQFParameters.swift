/// What an orientation estimator is tuned by; the defaults are those that Laidig & Seel (2023) found on many data sets.
public struct VQFParameters: Sendable, Hashable {
    /// Time constant of the low pass of the acceleration, in s.
    public var accelerometerTime = 3.0
    /// Time constant of the correction of the heading, in s.
    public var magnetometerTime = 9.0

    /// Standard deviation of the gyroscope's bias at the start, in °/s; more is never assumed.
    public var initialBiasSigma = 0.5
    /// Time in which the standard deviation of the bias grows from 0 to 0.1 °/s, in s.
    public var biasForgettingTime = 100.0
    /// The largest bias per axis, in °/s.
    public var largestBias = 2.0
    /// Standard deviation that the bias converges to in motion, in °/s.
    public var motionBiasSigma = 0.1
    /// How much less the bias about the vertical is forgotten in motion, where nothing shows it.
    public var verticalForgettingFactor = 0.0001
    /// Standard deviation that the bias converges to at rest, in °/s.
    public var restBiasSigma = 0.03

    /// How long it has to be still to count as rest, in s.
    public var shortestRest = 1.5
    /// Time constant of the low passes from which rest is told, in s.
    public var restFilterTime = 0.5
    /// Deviation from them that ends a rest: °/s and m/s².
    public var restGyroscopeThreshold = 2.0
    public var restAccelerometerThreshold = 0.5

    /// Time constant of the low pass of field strength and dip, in s.
    public var fieldTime = 0.05
    /// Time constant with which the reference follows the field, in s.
    public var fieldReferenceTime = 20.0
    /// Deviation from the reference that counts as a disturbance: a part of the strength, and ° of dip.
    public var fieldStrengthThreshold = 0.1
    public var fieldDipThreshold = 10.0
    /// How long another field has to hold, while the device turns, to become the reference, in s; and the first time.
    public var newFieldTime = 20.0
    public var firstFieldTime = 5.0
    /// How fast the device has to turn for that, in °/s.
    public var newFieldRotation = 20.0
    /// How long the field has to be like the reference to count as undisturbed, in s.
    public var shortestUndisturbed = 0.5
    /// How long a disturbed field is passed over, in s; from then on it counts, by a part.
    public var longestRejection = 60.0
    /// By what part a disturbed field counts then; and by how much faster than it is used up that time is granted anew.
    public var rejectionFactor = 2.0

    public init() {}
}
