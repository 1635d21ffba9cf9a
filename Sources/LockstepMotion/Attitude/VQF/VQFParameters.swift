/// The tuning of ``VQF``. The defaults are those of Laidig & Seel (2023), optimised on many data sets.
public struct VQFParameters: Sendable, Hashable {
    /// The time constant of the acceleration's low-pass filter, in s.
    public var accelerometerTime = 3.0
    /// The time constant of the heading correction, in s.
    public var magnetometerTime = 9.0

    /// The initial and largest standard deviation of the gyroscope's bias, in °/s.
    public var initialBiasSigma = 0.5
    /// The time in which the standard deviation of the bias grows from 0 to 0.1 °/s, in s.
    public var biasForgettingTime = 100.0
    /// The largest bias per axis, in °/s.
    public var maxBias = 2.0
    /// The standard deviation to which the bias converges in motion, in °/s.
    public var motionBiasSigma = 0.1
    /// The forgetting factor of the bias about the vertical in motion, where it is not observable.
    public var verticalForgettingFactor = 0.0001
    /// The standard deviation to which the bias converges at rest, in °/s.
    public var restBiasSigma = 0.03

    /// The time without motion that counts as rest, in s.
    public var minRestDuration = 1.5
    /// The time constant of the low-pass filters of rest detection, in s.
    public var restFilterTime = 0.5
    /// The deviation of the rotation rate from its low-pass filter that ends a rest, in °/s.
    public var restGyroscopeThreshold = 2.0
    /// The deviation of the acceleration from its low-pass filter that ends a rest, in m/s².
    public var restAccelerometerThreshold = 0.5

    /// The time constant of the low-pass filter of field strength and dip, in s.
    public var fieldTime = 0.05
    /// The time constant with which the reference follows the field, in s.
    public var fieldReferenceTime = 20.0
    /// The relative deviation of the strength from the reference that counts as a disturbance.
    public var fieldStrengthThreshold = 0.1
    /// The deviation of the dip from the reference that counts as a disturbance, in °.
    public var fieldDipThreshold = 10.0
    /// The time for which a new field must hold during rotation to become the reference, in s.
    public var newFieldTime = 20.0
    /// The time for which the first field must hold during rotation to become the reference, in s.
    public var firstFieldTime = 5.0
    /// The rotation rate that counts as rotation for ``newFieldTime`` and ``firstFieldTime``, in °/s.
    public var newFieldRotation = 20.0
    /// The time for which the field must match the reference to count as undisturbed, in s.
    public var minUndisturbedDuration = 0.5
    /// The time for which a disturbed field is rejected, in s. Afterwards it is used with reduced weight.
    public var maxRejectionDuration = 60.0
    /// The factor by which the weight of a disturbed field is reduced after ``maxRejectionDuration``. While the field
    /// is undisturbed, the rejection time used up so far decreases by this many seconds per second.
    public var rejectionFactor = 2.0

    /// Creates the default parameters.
    public init() {}
}
