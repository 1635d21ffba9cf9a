import Glibc
import LockstepModel
package import LockstepMotion

/// Magnetic and true heading, from device motion in a reference frame aligned with north.
struct HeadingSensor: DerivedSensor {
    /// The highest input rate of device motion in samples/s: enough for movements of a hand.
    private static let maxRate = 100.0
    /// The rate of the location in samples/s: the declination changes only over kilometres.
    private static let locationRate = 0.1

    private var declination: DeclinationSource

    init(declination: DeclinationSource) { self.declination = declination }

    /// Returns whether device motion has a reference frame that is aligned with north.
    /// - Parameter provided: The streams of the sources.
    static func isAvailable(options: DeviceMotionEstimator.Options, provided: Set<SensorStream>) -> Bool {
        if provided.contains(.deviceMotion) { return true }
        let hasNorth = options.referenceFrame == .magneticNorth || options.referenceFrame == .trueNorth
        return hasNorth && provided.contains(.magnetometer)
    }

    var stream: SensorStream { .heading }
    var requiredInputs: Set<SensorStream> { [.deviceMotion] }

    func inputs(for rate: Double) -> [SensorStream: Double] {
        var inputs: [SensorStream: Double] = [.deviceMotion: min(rate, Self.maxRate)]
        if declination.needsLocation { inputs[.location] = Self.locationRate }
        return inputs
    }

    mutating func update(_ samples: SampleBlock) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        guard samples.stream == .deviceMotion else {
            declination.update(samples)
            return block
        }
        for index in samples.times.indices {
            guard let motion = DeviceMotion(samples, at: index),
                let heading = HeadingEstimate(motion, declination: declination.declination)
            else { continue }
            block.append(time: motion.timestamp, values: heading.values)
        }
        return block
    }
}

/// The heading of a device at one time, in degrees.
package struct HeadingEstimate: Sendable, Hashable {
    /// Clockwise from magnetic north, 0 up to 360.
    package let magnetic: Double
    /// Clockwise from true north, 0 up to 360; nil if the declination is unknown.
    package let trueNorth: Double?
    /// The largest expected error; nil while the magnetometer is not calibrated.
    package let accuracy: Double?

    /// The smallest horizontal component of the top edge's direction (of length 1) for which the top edge is the
    /// pointer: a pitch of 60°.
    private static let minHorizontal = 0.5

    /// - Parameter declination: The angle from true to magnetic north in rad, east positive; nil if it is unknown.
    /// - Returns: nil if the frame of the attitude is not aligned with north, or its declination is unknown.
    package init?(_ motion: DeviceMotion, declination: Double?) {
        let north = Self.direction(motion.attitude.quaternion)
        switch motion.referenceFrame {
        case .arbitrary, .arbitraryCorrected: return nil
        case .magneticNorth:
            magnetic = Self.normalized(north)
            trueNorth = declination.map { Self.normalized(north + $0) }
        case .trueNorth:
            guard let declination else { return nil }
            magnetic = Self.normalized(north - declination)
            trueNorth = Self.normalized(north)
        }
        accuracy = motion.magneticField.flatMap { Self.accuracy($0.accuracy) }
    }

    /// The values of the columns of the `heading` stream.
    var values: [Double] { [magnetic, trueNorth ?? .nan, accuracy ?? .nan] }

    /// Returns the direction of the device in rad clockwise from the frame's north: the direction of the top edge (y
    /// axis), or of the back (−z axis) if the device is held upright.
    private static func direction(_ attitude: Quaternion) -> Double {
        let top = attitude.rotate(SIMD3(0, 1, 0))
        let isSteep = (top.x * top.x + top.y * top.y).squareRoot() < minHorizontal
        let pointer = isSteep ? attitude.rotate(SIMD3(0, 0, top.z > 0 ? -1 : 1)) : top
        return atan2(pointer.x, pointer.y)
    }

    /// Returns the angle in degrees, 0 up to 360, rounded to a hundredth.
    private static func normalized(_ radians: Double) -> Double {
        compassDegrees(radians * 180 / .pi, decimals: 2)
    }

    /// Returns the heading error in degrees that results from the remaining error of the field if the horizontal field
    /// is 20 µT, as at middle latitudes: 1 µT causes 3°, 3 µT cause 9°.
    private static func accuracy(_ field: CalibratedMagneticField.Accuracy) -> Double? {
        switch field {
        case .uncalibrated: nil
        case .low: 30
        case .medium: 10
        case .high: 5
        }
    }
}
