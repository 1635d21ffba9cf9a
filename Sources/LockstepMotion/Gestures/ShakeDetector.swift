/// One shake of a device.
public struct Shake: Sendable, Hashable {
    /// When the first of its swings was strong, in µs.
    public let start: Int64
    /// When it was recognised, in µs: at its fifth swing.
    public let recognized: Int64
    /// The strongest acceleration until then, in g, without gravity.
    public let strength: Double
}

/// Finds shakes in an accelerometer: swings to and fro that are stronger and quicker than what walking does.
///
/// The acceleration between 1 and 8 Hz, where gravity and the ring of a knock are gone, has to exceed 1 g five times in a
/// row, each time against the direction of the time before (more than 120° from it) and within 0.3 s of it. A hand that
/// shakes does that in half a second to a second (3…5 Hz, 1.5 g and more). In 15 real walks, in pockets and in hands, there
/// were never more than two such swings in a row. A shake is told once; the next can come when there has been no strong
/// swing for 0.5 s. Wants 25 samples a second or more.
public struct ShakeDetector: Sendable {
    /// g.
    private static let leastSwing = 1.0
    /// The cosine of the angle between a swing and the one before.
    private static let mostAligned = -0.5
    /// µs from one swing to the next.
    private static let longestSwing: Int64 = 300_000
    private static let swingsOfAShake = 5
    /// µs without a strong swing that end a shake.
    private static let pause: Int64 = 500_000
    /// Hz.
    private static let band = (low: 1.0, high: 8.0)

    private var filter = LowPassFilter(cutOff: band.high).then(HighPassFilter(cutOff: band.low))
    private var last: Int64?
    private var swings = 0
    private var start: Int64 = 0
    private var lastSwing: (time: Int64, direction: SIMD3<Double>)?
    private var lastStrong: Int64 = 0
    private var strength = 0.0

    /// Whether a shake that was told goes on.
    public private(set) var isShaking = false

    /// A detector that has seen nothing.
    public init() {}

    /// Takes one accelerometer sample; one that is not later than the one before is passed over.
    /// - Parameters:
    ///   - time: µs of any clock that does not run backward.
    ///   - x: g along the x axis, of either sign convention; `y` and `z` likewise.
    /// - Returns: a shake where this sample completes one.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double) -> Shake? {
        if let last, time <= last { return nil }
        last = time
        let swing = filter.update(SIMD3(x, y, z), time: time)
        if isShaking, time - lastStrong > Self.pause {
            isShaking = false
            swings = 0
        }
        let size = length(swing)
        guard size > Self.leastSwing else { return nil }
        lastStrong = time
        return take(direction: swing / size, size: size, time: time)
    }

    private mutating func take(direction: SIMD3<Double>, size: Double, time: Int64) -> Shake? {
        if let before = lastSwing, swings > 0, time - before.time <= Self.longestSwing {
            strength = max(strength, size)
            guard dot(before.direction, direction) < Self.mostAligned else { return nil }
            swings += 1
        } else {
            swings = 1
            start = time
            strength = size
        }
        lastSwing = (time, direction)
        guard swings >= Self.swingsOfAShake, !isShaking else { return nil }
        isShaking = true
        return Shake(start: start, recognized: time, strength: strength)
    }
}
