import Glibc

/// A shake of a device.
public struct Shake: Sendable, Hashable {
    /// The time of the first strong swing, in µs.
    public let start: Int64
    /// The time of the detection at the third swing or later, in µs.
    public let recognized: Int64
    /// The largest acceleration without gravity until the detection, in g.
    public let strength: Double
}

/// Detects shakes with an accelerometer: strong swings back and forth along one line.
///
/// The acceleration is band-pass filtered from 1 to 8 Hz, which removes gravity and the ringing of knocks. A shake is
/// three consecutive swings above 1.1 g, each more than 120° from the direction of the previous one and within 0.22 s of
/// it, while the movement is along one line. A hand that shakes (3…6 Hz, 2 g and more) completes that within half a
/// second. Legs and arms that walk or run swing as fast and as strongly, but turn: their movement fills a plane. A rough
/// road shakes a bicycle, but vibrates at least as strongly above the frequencies of a hand.
/// A shake is reported once; the next one can follow after 0.5 s without a strong swing. The sensor needs a rate of at
/// least 25 Hz: in slower samples, vibration looks like swings, so they are ignored.
public struct ShakeDetector: Sendable {
    /// The smallest acceleration of a swing, in g.
    private static let minAcceleration = 1.1
    /// The largest cosine of the angle between consecutive swings.
    private static let maxCosine = -0.5
    /// The longest time between consecutive swings, in µs: half a period of 2.3 Hz.
    private static let maxSwingInterval: Int64 = 220_000
    private static let swingsPerShake = 3
    /// The smallest linearity of a shake (``DirectionSpread/linearity``). Recorded shakes have 0.9, runs mostly 0.5 to 0.8.
    private static let minLinearity = 0.87
    /// The largest power of vibration relative to that of the swings: up to 0.3 in a shake, and 0.6 or more on a road.
    private static let maxVibration = 0.45
    /// The cut-off of vibration, in Hz.
    private static let vibrationCutOff = 12.0
    /// The longest interval between samples, in s: one of 25 Hz, with jitter.
    private static let maxInterval = 0.045
    /// The time without a strong swing that ends a shake, in µs.
    private static let pause: Int64 = 500_000
    /// The pass band, in Hz.
    private static let band = (low: 1.0, high: 8.0)

    private var filter = LowPassFilter(cutOff: band.high).then(HighPassFilter(cutOff: band.low))
    private var highPass = HighPassFilter(cutOff: vibrationCutOff).then(HighPassFilter(cutOff: vibrationCutOff))
    private var spread = DirectionSpread()
    private var vibration = DirectionSpread()
    private var last: Int64?
    private var swings = 0
    private var start: Int64 = 0
    private var lastSwing: (time: Int64, direction: SIMD3<Double>)?
    private var lastStrong: Int64 = 0
    private var strength = 0.0

    /// Whether a reported shake continues.
    public private(set) var isShaking = false

    /// Creates a detector in its initial state.
    public init() {}

    /// Processes an accelerometer sample. Samples that are not later than the previous one are ignored.
    ///
    /// - Parameters:
    ///   - time: the time of the sample in µs, of any monotonic clock.
    ///   - x: the acceleration along the x axis in g, of either sign convention; `y` and `z` likewise.
    /// - Returns: a shake if this sample completes one.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double) -> Shake? {
        if let last, time <= last { return nil }
        let swing = filter.update(SIMD3(x, y, z), time: time)
        let interval = last.map { Double(time - $0) / 1e6 } ?? 0
        spread.update(swing, seconds: interval)
        vibration.update(highPass.update(SIMD3(x, y, z), time: time), seconds: interval)
        last = time
        if isShaking, time - lastStrong > Self.pause {
            isShaking = false
            swings = 0
        }
        let size = length(swing)
        guard size > Self.minAcceleration, interval <= Self.maxInterval else { return nil }
        lastStrong = time
        return addSwing(direction: swing / size, size: size, time: time)
    }

    private mutating func addSwing(direction: SIMD3<Double>, size: Double, time: Int64) -> Shake? {
        if let before = lastSwing, swings > 0, time - before.time <= Self.maxSwingInterval {
            strength = max(strength, size)
            guard dot(before.direction, direction) < Self.maxCosine else { return nil }
            swings += 1
        } else {
            swings = 1
            start = time
            strength = size
        }
        lastSwing = (time, direction)
        guard swings >= Self.swingsPerShake, !isShaking, spread.linearity >= Self.minLinearity,
            vibration.power <= Self.maxVibration * spread.power
        else { return nil }
        isShaking = true
        return Shake(start: start, recognized: time, strength: strength)
    }
}

/// How the last movements were distributed over all directions: their second moments, as exponential means.
private struct DirectionSpread: Sendable {
    /// The time constant, in s: a shake of two periods.
    private static let time = 0.4

    private var (x, y, z) = (SIMD3<Double>.zero, SIMD3<Double>.zero, SIMD3<Double>.zero)

    mutating func update(_ value: SIMD3<Double>, seconds: Double) {
        let weight = 1 - exp(-seconds / Self.time)
        x += (value * value.x - x) * weight
        y += (value * value.y - y) * weight
        z += (value * value.z - z) * weight
    }

    /// The mean square.
    var power: Double { x.x + y.y + z.z }

    /// 1 for movements along one line, 1/2 for those that fill a plane, 1/3 in all directions alike: the sum of the squares
    /// of the moments along the principal axes, relative to the square of their sum.
    var linearity: Double {
        power > 0 ? (dot(x, x) + dot(y, y) + dot(z, z)) / (power * power) : 0
    }
}
