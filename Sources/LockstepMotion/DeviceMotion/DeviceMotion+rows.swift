public import LockstepModel

extension DeviceMotion {
    /// The values of a row of `motion/device`, rounded to the resolution of sensors: quaternion components to
    /// 0.00001, accelerations to 0.0001 g, rotation rates to 0.0001 rad/s, fields to 0.01 µT.
    public var values: [Double] {
        let turn = attitude.quaternion
        var values: [Double] = []
        values.reserveCapacity(18)
        func append(_ vector: SIMD3<Double>?, decimals: Int) {
            for index in 0..<3 { values.append(vector.map { resolved($0[index], decimals: decimals) } ?? .nan) }
        }
        values.append(resolved(turn.scalar, decimals: 5))
        append(turn.vector, decimals: 5)
        append(gravity, decimals: 4)
        append(userAcceleration, decimals: 4)
        append(rotationRate, decimals: 4)
        append(magneticField?.field, decimals: 2)
        values.append(magneticField.map { Double($0.accuracy.rawValue) } ?? .nan)
        values.append(Double(referenceFrame.code))
        return values
    }

    /// Creates device motion from sample `index` of a block of `motion/device`; nil if the frame or the attitude is
    /// missing.
    ///
    /// - Precondition: `samples` belongs to that stream.
    public init?(_ samples: SampleBlock, at index: Int) {
        precondition(samples.stream == .deviceMotion, "samples must belong to motion/device")
        let values = samples.values(at: index)
        func vector(_ first: Int) -> SIMD3<Double>? {
            let vector = SIMD3(values[first], values[first + 1], values[first + 2])
            return vector.x.isFinite && vector.y.isFinite && vector.z.isFinite ? vector : nil
        }
        guard let turn = vector(1), values[0].isFinite, let frame = AttitudeReferenceFrame(code: values[17]) else {
            return nil
        }
        let attitude = Attitude(quaternion: Quaternion(scalar: values[0], vector: turn))
        self.init(
            timestamp: Timestamp(microseconds: samples.times[index]), attitude: attitude, referenceFrame: frame,
            gravity: vector(4) ?? attitude.quaternion.inverse.rotate(SIMD3(0, 0, -1)),
            userAcceleration: vector(7) ?? SIMD3(0, 0, 0), rotationRate: vector(10),
            magneticField: vector(13).map {
                CalibratedMagneticField(
                    field: $0, accuracy: Int(exactly: values[16]).flatMap(Accuracy.init) ?? .uncalibrated)
            })
    }

    private typealias Accuracy = CalibratedMagneticField.Accuracy
}
