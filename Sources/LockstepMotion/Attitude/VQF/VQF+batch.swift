extension VQF {
    /// What is told after each sample of a recording.
    public struct Track: Sendable {
        /// As ``VQF/attitude6D`` and ``VQF/attitude9D``; the latter is empty without a magnetometer.
        public var attitudes6D: [Quaternion] = []
        public var attitudes9D: [Quaternion] = []
        /// As ``VQF/gyroscopeBias``, in rad/s.
        public var gyroscopeBiases: [SIMD3<Double>] = []
        /// As ``VQF/gyroscopeBiasSigma``, in rad/s.
        public var gyroscopeBiasSigmas: [Double] = []
        public var isAtRest: [Bool] = []
        /// Empty without a magnetometer.
        public var isMagneticFieldDisturbed: [Bool] = []
    }

    /// Takes all samples of a recording, at the nominal interval: the same as a call for each, in less time.
    /// - Parameters:
    ///   - gyroscope: rad/s.
    ///   - accelerometer: specific force in m/s².
    ///   - magnetometer: in any unit.
    /// - Precondition: there are as many of each.
    public mutating func track(
        gyroscope: [SIMD3<Double>], accelerometer: [SIMD3<Double>], magnetometer: [SIMD3<Double>]? = nil
    ) -> Track {
        let count = gyroscope.count
        precondition(accelerometer.count == count, "a sample of the accelerometer for each of the gyroscope")
        precondition(magnetometer == nil || magnetometer?.count == count, "a sample of the magnetometer for each")
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
