import Glibc

/// A fall of the person who wears a device, or of the device with something that tilts.
public struct Fall: Sendable, Hashable {
    /// The time of the impact, in µs.
    public let impact: Int64
    /// The time of the detection, 2 to 6 s later, in µs.
    public let recognized: Int64
    /// The largest acceleration of the impact, in g.
    public let strength: Double
}

/// Detects falls with an accelerometer: support is lost, something is hit, and then the device lies still in another direction.
///
/// The parts are those of threshold methods in the literature (Kangas et al. 2008, Gait & Posture 28: start of the fall, impact
/// and posture). The limits are from recordings of staged falls at waist, pocket and wrist:
/// - an impact of 2.5 g or more;
/// - in the second before it, a loss of support that gives a speed of 0.33 m/s or more: the integral of what the magnitude of
///   the acceleration lacks of 1 g;
/// - afterwards, from 0.5 to 6 s after the impact, 1.5 s in which the magnitude varies by 0.05 g or less;
/// - gravity in these 1.5 s is 55° or more away from where it was in the seconds before the fall.
///
/// A person who gets up at once, or who falls on a chair and stays upright, is not detected. One who drops onto a bed may be.
/// The sensor needs a rate of at least 20 Hz.
public struct FallDetector: Sendable {
    /// The smallest acceleration of an impact, in g.
    private static let minImpact = 2.5
    /// The smallest speed by the loss of support, in m/s.
    private static let minSpeed = 0.33
    /// The largest standard deviation of the magnitude while the device lies still, in g.
    private static let maxDeviation = 0.05
    /// The largest cosine of the angle by which the device is turned.
    private static let maxCosine = cos(55 * Double.pi / 180)
    private static let standardGravity = 9.81

    /// The duration of a part, in µs.
    private static let partDuration: Int64 = 250_000
    /// The number of parts before an impact in which support is lost.
    private static let partsOfLoss = 4
    /// The number of parts in which the device lies still.
    private static let partsAtRest = 6
    /// The number of parts that are kept: those from which the direction before an impact is taken.
    private static let maxParts = 16
    /// How long before an impact the direction is taken, in µs.
    private static let before: ClosedRange<Int64> = 1_500_000...4_000_000
    /// When after an impact the device lies still, in µs.
    private static let after: ClosedRange<Int64> = 500_000...6_000_000
    /// The time in which the peaks of an impact belong together, in µs.
    private static let impactDuration: Int64 = 500_000
    /// The time without samples after which nothing of before counts, in µs.
    private static let maxGap: Int64 = 500_000

    /// A quarter of a second.
    private struct Part: Sendable {
        let start: Int64
        var count = 0.0
        var sum = SIMD3<Double>.zero
        var magnitudes = 0.0
        var squares = 0.0
        /// The speed by the loss of support, in m/s.
        var speed = 0.0
    }

    /// An impact that may be that of a fall.
    private struct Impact: Sendable {
        let time: Int64
        let directionBefore: SIMD3<Double>
        var strength: Double
    }

    /// The last complete parts.
    private var parts: [Part] = []
    private var part: Part?
    private var impacts: [Impact] = []
    private var last: Int64?

    /// Creates a detector in its initial state.
    public init() {}

    /// Processes an accelerometer sample. Samples that are not later than the previous one are ignored.
    ///
    /// - Parameters:
    ///   - time: the time of the sample in µs, of any monotonic clock.
    ///   - x: the acceleration along the x axis in g, of either sign convention; `y` and `z` likewise.
    /// - Returns: a fall if this sample shows that the device lies still after one.
    public mutating func update(time: Int64, x: Double, y: Double, z: Double) -> Fall? {
        if let last {
            guard time > last else { return nil }
            if time - last > Self.maxGap { self = FallDetector() }
        }
        let value = SIMD3(x, y, z)
        let magnitude = length(value)
        let seconds = min(Double(time - (last ?? time)) / 1e6, 0.1)
        last = time
        let fall = completePart(at: time)
        if magnitude >= Self.minImpact { addImpact(magnitude, at: time) }
        var current = part ?? Part(start: time)
        current.count += 1
        current.sum += value
        current.magnitudes += magnitude
        current.squares += magnitude * magnitude
        current.speed += max(0, 1 - magnitude) * Self.standardGravity * seconds
        part = current
        return fall
    }

    /// Ends the current part if it is over.
    /// - Returns: a fall if the device lies still since an impact.
    private mutating func completePart(at time: Int64) -> Fall? {
        guard let complete = part, time - complete.start >= Self.partDuration else { return nil }
        part = nil
        parts.append(complete)
        if parts.count > Self.maxParts { parts.removeFirst() }
        impacts.removeAll { time - $0.time > Self.after.upperBound }
        guard !impacts.isEmpty, let (start, direction) = rest else { return nil }
        let fall = impacts.first { impact in
            start - impact.time >= Self.after.lowerBound
                && dot(direction, impact.directionBefore) / length(impact.directionBefore)
                    <= Self.maxCosine * length(direction)
        }
        guard let fall else { return nil }
        impacts.removeAll()
        return Fall(impact: fall.time, recognized: time, strength: fall.strength)
    }

    /// The start and the mean acceleration of the last parts, if the device lay still in them.
    private var rest: (start: Int64, direction: SIMD3<Double>)? {
        let quiet = parts.suffix(Self.partsAtRest)
        guard quiet.count == Self.partsAtRest, let first = quiet.first else { return nil }
        let count = quiet.reduce(0) { $0 + $1.count }
        let mean = quiet.reduce(0) { $0 + $1.magnitudes } / count
        let variance = quiet.reduce(0) { $0 + $1.squares } / count - mean * mean
        // At rest there is gravity: a sensor that has failed may deliver zeros.
        guard variance <= Self.maxDeviation * Self.maxDeviation, mean > 0.5 else { return nil }
        return (first.start, quiet.reduce(SIMD3.zero) { $0 + $1.sum } / count)
    }

    private mutating func addImpact(_ magnitude: Double, at time: Int64) {
        if let index = impacts.indices.last, time - impacts[index].time < Self.impactDuration {
            impacts[index].strength = max(impacts[index].strength, magnitude)
            return
        }
        let speed = parts.suffix(Self.partsOfLoss).reduce(part?.speed ?? 0) { $0 + $1.speed }
        guard speed >= Self.minSpeed else { return }
        var earlier = parts.filter { Self.before.contains(time - $0.start) }
        // Little is known after a start.
        if earlier.isEmpty { earlier = Array(parts.prefix(1)) }
        guard !earlier.isEmpty else { return }
        let direction = earlier.reduce(SIMD3.zero) { $0 + $1.sum }
        impacts.append(Impact(time: time, directionBefore: direction, strength: magnitude))
    }
}
