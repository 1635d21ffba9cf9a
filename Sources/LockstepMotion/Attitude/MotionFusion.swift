import LockstepModel

/// Makes device motion of moments in the order of time, without a long gap between them.
struct MotionFusion: Sendable {
    /// µs for which a sensor may be silent until it counts as missing.
    private static let patience: Int64 = 1_000_000

    private let options: DeviceMotionEstimator.Options
    private let interval: Double
    private var vqf: VQF
    /// In use while there is no gyroscope.
    private var compass: TiltCompass? = TiltCompass()
    private var calibration = FieldCalibration()
    private var gyroscope = LastSample()
    private var accelerometer = LastSample()
    private var magnetometer = LastSample()
    /// The heading offset at the first field: so the frame with an arbitrary heading begins where the one that drifts
    /// began.
    private var firstHeadingOffset: Double?

    private struct LastSample: Sendable {
        var time: Int64?
        var value = SIMD3<Double>(0, 0, 0)

        /// Takes the next; gives the s since the one before, or `interval` where there was none for long: nobody knows
        /// what happened since.
        mutating func take(_ next: SIMD3<Double>, at now: Int64, first interval: Double) -> Double {
            defer { (time, value) = (now, next) }
            guard let time, isPresent(at: now) else { return interval }
            return Double(now - time) / 1e6
        }

        func isPresent(at now: Int64) -> Bool { time.map { now - $0 <= MotionFusion.patience } ?? false }
    }

    /// - Parameters:
    ///   - interval: s between samples, about.
    ///   - before: what was known before a gap: the device's own field and the gyroscope's bias outlast it.
    init(options: DeviceMotionEstimator.Options, interval: Double, before: MotionFusion? = nil) {
        self.options = options
        self.interval = interval
        vqf = VQF(interval: interval, gyroscopeBias: before?.vqf.gyroscopeBias ?? SIMD3(0, 0, 0))
        if let before { calibration = before.calibration.restarted }
    }

    /// - Returns: device motion, if the accelerometer has a sample.
    mutating func update(_ moment: MotionMerger.Moment) -> DeviceMotion? {
        var moment = moment
        // Nothing is weightless to the last digit: it is broken, and says nothing of what is up.
        if moment.accelerometer == SIMD3(0, 0, 0) { moment.accelerometer = nil }
        if let rate = moment.gyroscope { take(gyroscope: rate, at: moment.time) }
        if let acceleration = moment.accelerometer { take(accelerometer: acceleration, at: moment.time) }
        if let field = moment.magnetometer { take(magnetometer: field, at: moment.time) }
        return moment.accelerometer.map { motion(acceleration: $0, at: moment.time) }
    }

    private mutating func take(gyroscope rate: SIMD3<Double>, at time: Int64) {
        if compass != nil {
            // The gyroscope is new, or was away: of what it said before only its bias is worth something now.
            compass = nil
            calibration = calibration.restarted
            vqf = VQF(interval: interval, gyroscopeBias: vqf.gyroscopeBias)
            gyroscope = LastSample()
            firstHeadingOffset = nil
        }
        let elapsed = gyroscope.take(rate, at: time, first: interval)
        vqf.update(gyroscope: rate, elapsed: elapsed)
    }

    private mutating func take(accelerometer acceleration: SIMD3<Double>, at time: Int64) {
        let force = acceleration * -standardGravity
        let elapsed = accelerometer.take(acceleration, at: time, first: interval)
        if compass == nil, !gyroscope.isPresent(at: time) {
            compass = TiltCompass(tilt: vqf.attitude6D)
            firstHeadingOffset = nil
        }
        compass?.update(accelerometer: force, time: time)
        if compass == nil { vqf.update(accelerometer: force, elapsed: elapsed) }
    }

    private mutating func take(magnetometer reading: SIMD3<Double>, at time: Int64) {
        let elapsed = magnetometer.take(reading, at: time, first: interval)
        if options.calibratesMagneticField { calibration.update(reading, attitude: drifting(at: time)) }
        let field = reading - calibration.offset
        compass?.update(magnetometer: field, time: time)
        if compass == nil { vqf.update(magnetometer: field, elapsed: elapsed) }
        if firstHeadingOffset == nil { firstHeadingOffset = headingOffset }
    }

    private var headingOffset: Double? { compass == nil ? vqf.headingOffset : compass?.headingOffset }

    /// Device to a frame whose z axis is up and whose heading drifts.
    private func drifting(at time: Int64) -> Quaternion {
        if let compass { return compass.tilt }
        // Where the sensors don't sample at once, the gyroscope's last word goes on for the moment.
        guard let last = gyroscope.time, last < time else { return vqf.attitude6D }
        return vqf.attitude6D
            * Quaternion(rotation: (gyroscope.value - vqf.gyroscopeBias) * (Double(time - last) / 1e6))
    }

    private func motion(acceleration: SIMD3<Double>, at time: Int64) -> DeviceMotion {
        let drifting = drifting(at: time)
        let (attitude, frame) = framed(drifting, at: time)
        let gravity = drifting.inverse.rotate(SIMD3(0, 0, -1))
        return DeviceMotion(
            timestamp: Timestamp(microseconds: time), attitude: Attitude(quaternion: attitude), referenceFrame: frame,
            gravity: gravity, userAcceleration: acceleration - gravity,
            rotationRate: compass == nil ? gyroscope.value - vqf.gyroscopeBias : nil,
            magneticField: magneticField(at: time))
    }

    /// The attitude in the frame that was asked for, or in the best that there is.
    private func framed(_ drifting: Quaternion, at time: Int64) -> (Quaternion, AttitudeReferenceFrame) {
        guard options.referenceFrame != .arbitrary, magnetometer.isPresent(at: time), let offset = headingOffset else {
            return (drifting, .arbitrary)
        }
        switch (options.referenceFrame, options.declination) {
        case (.arbitraryCorrected, _):
            return (VQF.turned(drifting, by: offset - (firstHeadingOffset ?? offset)), .arbitraryCorrected)
        case (.trueNorth, let declination?): return (VQF.turned(drifting, by: offset - declination), .trueNorth)
        default: return (VQF.turned(drifting, by: offset), .magneticNorth)
        }
    }

    private func magneticField(at time: Int64) -> CalibratedMagneticField? {
        guard magnetometer.isPresent(at: time) else { return nil }
        let isDisturbed = compass == nil && vqf.isMagneticFieldDisturbed
        let accuracy = isDisturbed ? min(calibration.accuracy, .low) : calibration.accuracy
        return CalibratedMagneticField(field: magnetometer.value - calibration.offset, accuracy: accuracy)
    }
}
