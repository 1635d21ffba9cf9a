/// Calibrates a magnetometer: for hard and soft iron if the readings determine both well, otherwise for hard iron only.
struct MagneticCalibrator: Sendable {
    /// The effective number of readings that a soft-iron correction requires.
    private static let minWeight = 100.0
    /// The fraction of all directions that a soft-iron correction requires.
    private static let minCoverage = 0.75
    /// The largest residual of a valid soft-iron correction, in µT.
    private static let maxResidual = 2.0
    /// The factor by which the residual of the best sphere must be larger. Otherwise there is no soft iron to correct.
    private static let minImprovement = 1.15
    /// The noise of a good magnetometer in µT: a smaller residual does not count as an improvement.
    private static let minNoise = 0.3
    /// The largest ratio of the axes of a plausible ellipsoid.
    private static let maxAxisRatio = 2.0
    /// The largest difference between the ellipsoid's centre and a known hard-iron offset, in µT.
    private static let maxDisagreement = 6.0
    /// The number of readings between two fits.
    private static let fitInterval = 5

    private var hardIron = HardIronEstimator()
    private var fit = EllipsoidFit()
    private var coverage = SphereCoverage()
    /// The result of the last fit.
    private var latest: EllipsoidFit.Result?
    /// The soft-iron correction that is applied.
    private var applied: EllipsoidFit.Result?
    /// The accuracy of the soft-iron correction according to recent readings.
    private var softIronAccuracy = CalibratedMagneticField.Accuracy.uncalibrated
    private var readings = 0

    /// The calibration of the same device for a new frame. The ellipsoid does not depend on the frame.
    var restarted: MagneticCalibrator {
        var next = self
        next.hardIron = hardIron.restarted
        return next
    }

    /// - Parameters:
    ///   - reading: in µT along the device's axes.
    ///   - attitude: from the device to a frame whose heading may drift.
    mutating func update(_ reading: SIMD3<Double>, attitude: Quaternion) {
        guard hardIron.update(reading, attitude: attitude) else { return }
        fit.add(reading)
        if let latest { coverage.add(latest.correction * (reading - latest.center)) }
        readings += 1
        guard readings.isMultiple(of: Self.fitInterval) else { return }
        latest = fit.result
        revise()
    }

    /// Returns a reading corrected for the influence of the device, in µT.
    func corrected(_ reading: SIMD3<Double>) -> SIMD3<Double> {
        guard let applied else { return reading - hardIron.offset }
        return applied.correction * (reading - applied.center)
    }

    var accuracy: CalibratedMagneticField.Accuracy { max(hardIron.accuracy, softIronAccuracy) }

    /// The calibration with its quality.
    var calibration: MagneticCalibration {
        let isKnown = hardIron.offset != SIMD3(0, 0, 0)
        return MagneticCalibration(
            kind: applied != nil ? .softIron : isKnown ? .hardIron : .none,
            offset: applied?.center ?? hardIron.offset, axisRatio: applied?.axisRatio ?? 1,
            residual: applied?.residual ?? hardIron.residual, coverage: coverage.fraction, accuracy: accuracy)
    }

    /// Applies the latest fit if it is valid and differs from the applied one. Discards the applied one if it
    /// contradicts the hard-iron estimate.
    private mutating func revise() {
        if let applied, !agrees(applied) { self.applied = nil }
        softIronAccuracy = .uncalibrated
        guard let latest, isValid(latest) else { return }
        softIronAccuracy = .init(sigma: standardError(latest), noise: latest.residual, strength: latest.radius)
        // As for hard iron, change the correction only by more than its uncertainty, because the heading filter
        // interprets each change as a change of the field.
        if let applied, difference(applied, latest) <= max(1, 2 * standardError(latest)) { return }
        applied = latest
    }

    private func isValid(_ result: EllipsoidFit.Result) -> Bool {
        fit.weight >= Self.minWeight && coverage.fraction >= Self.minCoverage && result.residual <= Self.maxResidual
            && result.sphereResidual >= Self.minImprovement * max(result.residual, Self.minNoise)
            && result.axisRatio <= Self.maxAxisRatio
            && CalibratedMagneticField.Accuracy(sigma: 0, noise: 0, strength: result.radius) == .high
            && agrees(result)
    }

    private func agrees(_ result: EllipsoidFit.Result) -> Bool {
        hardIron.accuracy < .medium || length(result.center - hardIron.offset) <= Self.maxDisagreement
    }

    /// The approximate standard error of a correction with nine unknowns, in µT.
    private func standardError(_ result: EllipsoidFit.Result) -> Double {
        result.residual * (9 / fit.weight).squareRoot()
    }

    /// The largest difference of two corrections, in µT.
    private func difference(_ left: EllipsoidFit.Result, _ right: EllipsoidFit.Result) -> Double {
        let axes = [SIMD3(1.0, 0, 0), SIMD3(0.0, 1, 0), SIMD3(0.0, 0, 1)]
        let distortion = axes.map { length(left.correction * $0 - right.correction * $0) }.max() ?? 0
        return length(left.center - right.center) + right.radius * distortion
    }
}
