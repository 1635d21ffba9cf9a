extension CalibratedMagneticField.Accuracy {
    /// The plausible range of the earth's field in µT, with some margin.
    private static let plausibleStrength = 15.0...80.0

    /// Creates the accuracy of an estimate of the device's own field.
    ///
    /// - Parameters:
    ///   - sigma: the standard error of the estimate, in µT.
    ///   - noise: the root mean square of the residuals, in µT.
    ///   - strength: the strength of the earth's field by the same estimate, in µT.
    init(sigma: Double, noise: Double, strength: Double) {
        guard Self.plausibleStrength.contains(strength) else {
            self = .uncalibrated
            return
        }
        if sigma < 1, noise < 2 {
            self = .high
        } else if sigma < 3, noise < 5 {
            self = .medium
        } else {
            self = sigma < 10 ? .low : .uncalibrated
        }
    }
}
