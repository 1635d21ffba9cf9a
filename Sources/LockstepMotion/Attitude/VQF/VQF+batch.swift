extension VQF {
    /// The estimates after each sample of a recording.
    public struct Track: Sendable {
        /// The values of ``VQF/attitude6D``.
        public var attitudes6D: [Quaternion] = []
        /// The values of ``VQF/attitude9D``; empty without a magnetometer.
        public var attitudes9D: [Quaternion] = []
        /// The values of ``VQF/gyroscopeBias``, in rad/s.
        public var gyroscopeBiases: [SIMD3<Double>] = []
        /// The values of ``VQF/gyroscopeBiasSigma``, in rad/s.
        public var gyroscopeBiasSigmas: [Double] = []
        /// The values of ``VQF/isAtRest``.
        public var isAtRest: [Bool] = []
        /// The values of ``VQF/isMagneticFieldDisturbed``; empty without a magnetometer.
        public var isMagneticFieldDisturbed: [Bool] = []
    }

    /// Processes all samples of a recording at the nominal interval. The result equals that of one call per sample,
    /// but takes less time.
    ///
    /// - Parameters:
    ///   - gyroscope: rotation rates, in rad/s.
    ///   - accelerometer: specific forces, in m/s².
    ///   - magnetometer: magnetic fields, in any unit.
    /// - Precondition: all arrays have the same count.
    public mutating func track(
        gyroscope: [SIMD3<Double>], accelerometer: [SIMD3<Double>], magnetometer: [SIMD3<Double>]? = nil
    ) -> Track {
        let count = gyroscope.count
        precondition(accelerometer.count == count, "accelerometer and gyroscope need the same number of samples")
        precondition(
            magnetometer == nil || magnetometer?.count == count,
            "magnetometer and gyroscope need the same number of samples")
        var track = Track()
        track.attitudes6D.reserveCapacity(count)
        track.gyroscopeBiases.reserveCapacity(count)
        track.gyroscopeBiasSigmas.reserveCapacity(count)
        track.isAtRest.reserveCapacity(count)
        if magnetometer != nil {
            track.attitudes9D.reserveCapacity(count)
            track.isMagneticFieldDisturbed.reserveCapacity(count)
        }
        for index in 0..<count {
            update(
                gyroscope: gyroscope[index], accelerometer: accelerometer[index], magnetometer: magnetometer?[index])
            track.attitudes6D.append(attitude6D)
            track.gyroscopeBiases.append(gyroscopeBias)
            track.gyroscopeBiasSigmas.append(gyroscopeBiasSigma)
            track.isAtRest.append(isAtRest)
            guard magnetometer != nil else { continue }
            track.attitudes9D.append(attitude9D)
            track.isMagneticFieldDisturbed.append(isMagneticFieldDisturbed)
        }
        return track
    }
}
