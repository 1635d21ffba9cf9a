import LockstepModel

/// Computes device motion from merged samples in order of time, without a long gap between them.
struct MotionFusion: Sendable {
    /// The time without samples after which a sensor counts as missing, in µs.
    private static let sensorTimeout: Int64 = 1_000_000

    private let options: DeviceMotionEstimator.Options
    private let interval: Double
    /// The angle from true to magnetic north in rad, east positive; nil if it is unknown.
    var declination: Double?
    private var vqf: VQF
    /// The estimator in use while there is no gyroscope.
    private var compass: TiltCompass? = TiltCompass()
    private var calibrator = MagneticCalibrator()
    private var gyroscope = LastSample()
    private var accelerometer = LastSample()
    private var magnetometer = LastSample()
    /// The heading offset at the first magnetometer sample. It is subtracted in the frame `arbitraryCorrected`, which
    /// starts with the heading of the uncorrected frame.
    private var firstHeadingOffset: Double?

    private struct LastSample: Sendable {
        var time: Int64?
        var value = SIMD3<Double>(0, 0, 0)

        /// Stores the next sample and returns the time since the previous one in s, or `interval` if the previous
        /// sample is missing or too old.
        mutating func take(_ next: SIMD3<Double>, at now: Int64, first interval: Double) -> Double {
            defer { (time, value) = (now, next) }
            guard let time, isPresent(at: now) else { return interval }
            return Double(now - time) / 1e6
        }

        func isPresent(at now: Int64) -> Bool { time.map { now - $0 <= MotionFusion.sensorTimeout } ?? false }
    }

    /// - Parameters:
    ///   - interval: the approximate interval between samples, in s.
    ///   - before: the state before a gap. The calibration and the gyroscope's bias are kept.
    init(options: DeviceMotionEstimator.Options, interval: Double, before: MotionFusion? = nil) {
        self.options = options
        self.interval = interval
        vqf = VQF(interval: interval, gyroscopeBias: before?.vqf.gyroscopeBias ?? SIMD3(0, 0, 0))
        if let before { calibrator = before.calibrator.restarted }
    }

    /// - Returns: device motion if it includes an accelerometer sample.
    mutating func update(_ sample: MotionMerger.MergedSample) -> DeviceMotion? {
        var sample = sample
        // Exact zeros come only from a broken sensor and contain no direction of gravity.
        if sample.accelerometer == SIMD3(0, 0, 0) { sample.accelerometer = nil }
        if let rate = sample.gyroscope { process(gyroscope: rate, at: sample.time) }
        if let acceleration = sample.accelerometer { process(accelerometer: acceleration, at: sample.time) }
        if let field = sample.magnetometer { process(magnetometer: field, at: sample.time) }
        return sample.accelerometer.map { motion(acceleration: $0, at: sample.time) }
    }

    private mutating func process(gyroscope rate: SIMD3<Double>, at time: Int64) {
        if compass != nil {
            // The gyroscope has appeared or returned. Of the earlier state only its bias is still valid.
            compass = nil
            calibrator = calibrator.restarted
            vqf = VQF(interval: interval, gyroscopeBias: vqf.gyroscopeBias)
            gyroscope = LastSample()
            firstHeadingOffset = nil
        }
        let elapsed = gyroscope.take(rate, at: time, first: interval)
        vqf.update(gyroscope: rate, elapsed: elapsed)
    }

    private mutating func process(accelerometer acceleration: SIMD3<Double>, at time: Int64) {
        // The stream is (0, 0, -1) g at rest, face up. The specific force points up.
        let force = acceleration * -standardGravity
        let elapsed = accelerometer.take(acceleration, at: time, first: interval)
        if compass == nil, !gyroscope.isPresent(at: time) {
            compass = TiltCompass(tilt: vqf.attitude6D)
            firstHeadingOffset = nil
        }
        compass?.update(accelerometer: force, time: time)
        if compass == nil { vqf.update(accelerometer: force, elapsed: elapsed) }
    }

    private mutating func process(magnetometer reading: SIMD3<Double>, at time: Int64) {
        let elapsed = magnetometer.take(reading, at: time, first: interval)
        if options.calibratesMagneticField { calibrator.update(reading, attitude: uncorrectedAttitude(at: time)) }
        let field = calibrator.corrected(reading)
        compass?.update(magnetometer: field, time: time)
        if compass == nil { vqf.update(magnetometer: field, elapsed: elapsed) }
        if firstHeadingOffset == nil { firstHeadingOffset = headingOffset }
    }

    /// The calibration of the magnetometer with its quality; nil without readings.
    var calibration: MagneticCalibration? { magnetometer.time == nil ? nil : calibrator.calibration }

    private var headingOffset: Double? { compass == nil ? vqf.headingOffset : compass?.headingOffset }

    /// Returns the rotation from the device to a frame whose z axis points up and whose heading drifts.
    private func uncorrectedAttitude(at time: Int64) -> Quaternion {
        if let compass { return compass.tilt }
        // If the sensors do not sample at the same time, extrapolate with the gyroscope's last sample.
        guard let last = gyroscope.time, last < time else { return vqf.attitude6D }
        return vqf.attitude6D
            * Quaternion(rotation: (gyroscope.value - vqf.gyroscopeBias) * (Double(time - last) / 1e6))
    }

    private func motion(acceleration: SIMD3<Double>, at time: Int64) -> DeviceMotion {
        let uncorrected = uncorrectedAttitude(at: time)
        let (attitude, frame) = attitudeInFrame(uncorrected, at: time)
        let gravity = uncorrected.inverse.rotate(SIMD3(0, 0, -1))
        return DeviceMotion(
            timestamp: Timestamp(microseconds: time), attitude: Attitude(quaternion: attitude), referenceFrame: frame,
            gravity: gravity, userAcceleration: acceleration - gravity,
            rotationRate: compass == nil ? gyroscope.value - vqf.gyroscopeBias : nil,
            magneticField: magneticField(at: time))
    }

    /// Returns the attitude in the requested frame, or in the best one available.
    private func attitudeInFrame(_ uncorrected: Quaternion, at time: Int64) -> (Quaternion, AttitudeReferenceFrame) {
        guard options.referenceFrame != .arbitrary, magnetometer.isPresent(at: time), let offset = headingOffset else {
            return (uncorrected, .arbitrary)
        }
        switch (options.referenceFrame, declination) {
        case (.arbitraryCorrected, _):
            return (
                VQF.rotatedAboutVertical(uncorrected, by: offset - (firstHeadingOffset ?? offset)), .arbitraryCorrected
            )
        case (.trueNorth, let declination?):
            return (VQF.rotatedAboutVertical(uncorrected, by: offset - declination), .trueNorth)
        default: return (VQF.rotatedAboutVertical(uncorrected, by: offset), .magneticNorth)
        }
    }

    private func magneticField(at time: Int64) -> CalibratedMagneticField? {
        guard magnetometer.isPresent(at: time) else { return nil }
        let isDisturbed = compass == nil && vqf.isMagneticFieldDisturbed
        let accuracy = isDisturbed ? min(calibrator.accuracy, .low) : calibrator.accuracy
        return CalibratedMagneticField(field: calibrator.corrected(magnetometer.value), accuracy: accuracy)
    }
}
