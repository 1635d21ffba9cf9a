/// Finds the magnetic field of the device itself, which turns with it, beside that of the earth, which does not.
///
/// A reading m, taken at an attitude R (device to earth), is Rᵀ h + b: the earth's field h, and the device's own b (its
/// hard iron). Over many attitudes both follow by least squares. The sums that this takes are kept with a weight that
/// fades; a reading counts only after a turn, so that a device at rest neither learns nor forgets.
///
/// h is told in the frame without magnetometer. That its heading drifts slowly does not matter while the sums fade
/// faster.
struct FieldCalibration: Sendable {
    /// The cosine of half the turn after which a reading counts: 5°.
    private static let leastTurn = 0.999_048
    /// How many readings the sums are of, about.
    private static let memory = 400.0
    /// Readings below which nothing is said.
    private static let fewest = 20.0
    /// What the earth's field can be, in µT, with some room.
    private static let earthly = 15.0...80.0
    /// Noise of a good magnetometer, in µT: less is not believed.
    private static let leastNoise = 0.3
    /// A ridge, as a part of the information about an axis that was turned through all directions: an axis about which
    /// nothing is known gets no offset.
    private static let ridge = 0.002

    /// The device's own field, in µT along its axes; 0 until it is known to 3 µT.
    private(set) var offset = SIMD3<Double>(0, 0, 0)
    private(set) var accuracy = CalibratedMagneticField.Accuracy.uncalibrated

    private var weight = 0.0
    /// Weighted sums: of the device's axes in the frame, of the readings, of the readings in the frame, of their squares.
    private var axes = (x: SIMD3(0.0, 0, 0), y: SIMD3(0.0, 0, 0), z: SIMD3(0.0, 0, 0))
    private var readings = SIMD3(0.0, 0, 0)
    private var turnedReadings = SIMD3(0.0, 0, 0)
    private var squares = 0.0
    private var last: Quaternion?
    /// Readings for which what was known before still holds: a few say less.
    private var grace = 0
    private static let longestGrace = 100

    /// The same device in another frame: what is known of its field stays, the sums begin anew.
    var restarted: FieldCalibration {
        var next = FieldCalibration()
        next.offset = offset
        next.accuracy = accuracy
        next.grace = accuracy > .uncalibrated ? Self.longestGrace : 0
        return next
    }

    /// - Parameters:
    ///   - reading: in µT along the device's axes.
    ///   - attitude: device to a frame whose heading may drift.
    mutating func update(_ reading: SIMD3<Double>, attitude: Quaternion) {
        if let last {
            let cosine = abs(last.scalar * attitude.scalar + dot(last.vector, attitude.vector))
            guard cosine < Self.leastTurn else { return }
        }
        last = attitude
        let fading = 1 - 1 / Self.memory
        weight = fading * weight + 1
        axes.x = fading * axes.x + attitude.rotate(SIMD3(1, 0, 0))
        axes.y = fading * axes.y + attitude.rotate(SIMD3(0, 1, 0))
        axes.z = fading * axes.z + attitude.rotate(SIMD3(0, 0, 1))
        readings = fading * readings + reading
        turnedReadings = fading * turnedReadings + attitude.rotate(reading)
        squares = fading * squares + dot(reading, reading)
        if weight >= Self.fewest { solve() }
    }

    private mutating func solve() {
        let mean = (x: axes.x / weight, y: axes.y / weight, z: axes.z / weight)
        let (reading, turned) = (readings / weight, turnedReadings / weight)
        /// I − S̄ᵀS̄, the information about b that one reading has in the mean.
        func information(ridge: Double) -> SymmetricMatrix {
            SymmetricMatrix(
                xx: 1 + ridge - dot(mean.x, mean.x), xy: -dot(mean.x, mean.y), xz: -dot(mean.x, mean.z),
                yy: 1 + ridge - dot(mean.y, mean.y), yz: -dot(mean.y, mean.z),
                zz: 1 + ridge - dot(mean.z, mean.z))
        }
        let known = reading - SIMD3(dot(mean.x, turned), dot(mean.y, turned), dot(mean.z, turned))
        let found = information(ridge: Self.ridge).inverse * known
        // Infinite, or not a number, where the device was turned about one axis alone.
        let spread = information(ridge: 0).inverse
        let earth = turned - mean.x * found.x - mean.y * found.y - mean.z * found.z
        // The mean square of what the two fields leave unexplained: with the ridge b is not quite where it is least.
        let ofEarth = SIMD3(dot(mean.x, earth), dot(mean.y, earth), dot(mean.z, earth))
        let residual = squares / weight - dot(earth, turned) - dot(found, 2 * reading - ofEarth - found)
        let noise = max(Self.leastNoise, (max(0, residual) / 3).squareRoot())
        let trace = spread.xx + spread.yy + spread.zz
        let sigma = trace > 0 ? noise * (trace / weight).squareRoot() : .infinity
        let present = Self.accuracy(sigma: sigma, noise: noise, strength: length(earth))
        grace = max(0, grace - 1)
        accuracy = grace > 0 ? max(accuracy, present) : present
        guard present >= .medium, grace == 0 || offset == SIMD3(0, 0, 0) else { return }
        // Not at every breath: what follows the heading takes each change for one of the field.
        if length(found - offset) > max(1, 2 * sigma) { offset = found }
    }

    /// - Parameters: all in µT.
    private static func accuracy(sigma: Double, noise: Double, strength: Double) -> CalibratedMagneticField.Accuracy {
        guard earthly.contains(strength) else { return .uncalibrated }
        if sigma < 1, noise < 2 { return .high }
        if sigma < 3, noise < 5 { return .medium }
        return sigma < 10 ? .low : .uncalibrated
    }
}
