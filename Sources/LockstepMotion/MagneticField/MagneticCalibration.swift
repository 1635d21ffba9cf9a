/// The calibration of a magnetometer, with its quality.
///
/// A reading is corrected for the device's own field (hard iron) and, if the readings determine it well, for the
/// distortion of the earth's field by soft magnetic material and unequal sensitivities (soft iron).
public struct MagneticCalibration: Sendable, Hashable {
    /// The corrections that are applied.
    public enum Kind: String, Sendable, Hashable {
        /// None: the device has not been rotated enough, or it has no significant field of its own (see
        /// ``MagneticCalibration/accuracy``).
        case none
        /// The device's own field is subtracted.
        case hardIron
        /// The device's own field is subtracted, and the distortion of the earth's field is removed.
        case softIron
    }

    /// The corrections that are applied.
    public let kind: Kind
    /// The device's own field in µT along its axes; 0 while it is unknown.
    public let offset: SIMD3<Double>
    /// The ratio of the longest to the shortest axis of the ellipsoid of readings; 1 without a soft-iron correction.
    public let axisRatio: Double
    /// The root mean square of the residuals after the corrections, in µT; nil before there are enough readings.
    public let residual: Double?
    /// The fraction of all directions in which readings were taken recently, 0…1. A soft-iron correction requires 0.75.
    public let coverage: Double
    /// The accuracy of the calibration. Disturbances of the field are not considered.
    public let accuracy: CalibratedMagneticField.Accuracy
}
