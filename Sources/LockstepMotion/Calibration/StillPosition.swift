import Glibc
public import LockstepModel

/// A time in which a device lay still.
public struct StillPosition: Sendable, Hashable {
    /// The end, in µs as in the samples.
    public let time: Int64
    /// The mean reading of the accelerometer, in g.
    public let acceleration: SIMD3<Double>
    /// The mean reading of the gyroscope, in rad/s; nil without one.
    public let rotationRate: SIMD3<Double>?

    /// Creates a position.
    public init(time: Int64, acceleration: SIMD3<Double>, rotationRate: SIMD3<Double>? = nil) {
        self.time = time
        self.acceleration = acceleration
        self.rotationRate = rotationRate
    }

    /// The side on which the device lies; nil if it is more than 15° away from each of the six.
    public var face: DeviceOrientation? { DeviceOrientation.allCases.first { angle(to: $0.gravity) < 15 * .pi / 180 } }

    /// Whether the device lies on none of its sides, by 25° or more.
    var isTilted: Bool { DeviceOrientation.allCases.allSatisfy { angle(to: $0.gravity) >= 25 * .pi / 180 } }

    /// Returns the angle between the acceleration and a direction, in rad.
    func angle(to direction: SIMD3<Double>) -> Double {
        angleBetween(acceleration, direction)
    }
}

/// Finds the positions in which a device lies still, in samples of its accelerometer and its gyroscope.
///
/// As in the static detector of Tedaldi, Pretto and Menegatti (ICRA 2014), the variation within a window decides. The window is
/// two seconds long. The means of its four parts must agree, because a slow rotation has little variance. The limits are wider
/// than the noise of the sensors of phones, and narrower than a hand holds still.
public struct StillPositionDetector: Sendable {
    /// The duration of a part of the window, in µs, and the number of parts.
    private static let (partDuration, partCount): (Int64, Int) = (500_000, 4)
    /// The longest time between two samples, in µs.
    private static let maxGap: Int64 = 250_000
    /// The largest difference of the mean of a part from that of the window, on an axis, and the largest standard deviation in
    /// a part: in g and rad/s.
    private static let acceleration = (drift: 0.015, deviation: 0.05)
    private static let rotation = (drift: 0.02, deviation: 0.1)
    /// The rotation after which the device lies in another position, in rad.
    private static let minRotation = 15 * Double.pi / 180

    private struct Sample {
        let time: Int64
        let value: SIMD3<Double>
    }

    private struct Part {
        var acceleration = VectorMean()
        var rotation = VectorMean()
        let start: Int64
    }

    private let hasGyroscope: Bool
    /// The samples that wait for those of the other sensor.
    private var waiting: (acceleration: [Sample], rotation: [Sample]) = ([], [])
    private var parts: [Part] = []
    private var lastTime: Int64?
    /// The position in which the device still lies; nil after it was moved.
    private var last: StillPosition?

    /// Whether the device lies in a position that was found.
    var isStill: Bool { last != nil }

    /// - Parameter hasGyroscope: whether samples of a gyroscope are added, too.
    public init(hasGyroscope: Bool) { self.hasGyroscope = hasGyroscope }

    /// Adds samples of the accelerometer or of the gyroscope, each in order of time. Samples that are older are ignored.
    /// - Returns: the positions that were found. Each is found once, until the device is moved.
    public mutating func add(_ samples: SampleBlock) -> [StillPosition] {
        let values = samples.times.enumerated().map { index, time in
            Sample(
                time: time,
                value: SIMD3(samples.columns[0][index], samples.columns[1][index], samples.columns[2][index]))
        }
        if samples.stream == .accelerometer {
            waiting.acceleration += values
        } else if samples.stream == .gyroscope, hasGyroscope {
            waiting.rotation += values
        }
        var found: [StillPosition] = []
        let end = hasGyroscope ? waiting.rotation.last?.time ?? .min : .max
        let ready = waiting.acceleration.prefix { $0.time <= end }
        var rotations = waiting.rotation[...]
        for sample in ready {
            while let rotation = rotations.first, rotation.time <= sample.time {
                if !parts.isEmpty { parts[parts.count - 1].rotation.add(rotation.value) }
                rotations.removeFirst()
            }
            if let position = update(sample) { found.append(position) }
        }
        waiting.acceleration.removeFirst(ready.count)
        waiting.rotation = Array(rotations)
        return found
    }

    private mutating func update(_ sample: Sample) -> StillPosition? {
        if let lastTime {
            guard sample.time > lastTime else { return nil }
            if sample.time - lastTime > Self.maxGap { parts = [] }
        }
        lastTime = sample.time
        var position: StillPosition?
        if let part = parts.last, sample.time - part.start >= Self.partDuration {
            position = evaluate(at: sample.time)
            parts.append(Part(start: sample.time))
            if parts.count > Self.partCount { parts.removeFirst() }
        } else if parts.isEmpty {
            parts.append(Part(start: sample.time))
        }
        parts[parts.count - 1].acceleration.add(sample.value)
        return position
    }

    /// Evaluates the window at the end of a part.
    private mutating func evaluate(at time: Int64) -> StillPosition? {
        guard parts.count == Self.partCount else { return nil }
        let rotation = hasGyroscope ? Self.steadyMean(of: parts.map(\.rotation), Self.rotation) : nil
        guard let acceleration = Self.steadyMean(of: parts.map(\.acceleration), Self.acceleration),
            !hasGyroscope || rotation != nil
        else {
            last = nil
            return nil
        }
        if let last, last.angle(to: acceleration) < Self.minRotation { return nil }
        let position = StillPosition(time: time, acceleration: acceleration, rotationRate: rotation)
        last = position
        return position
    }

    /// Returns the mean of all parts; nil if they differ, or vary within.
    private static func steadyMean(
        of parts: [VectorMean], _ limits: (drift: Double, deviation: Double)
    ) -> SIMD3<Double>? {
        guard parts.allSatisfy({ $0.count >= 3 }) else { return nil }
        let mean = parts.reduce(SIMD3.zero) { $0 + $1.mean } / Double(parts.count)
        let isSteady = parts.allSatisfy { part in
            (0..<3).allSatisfy { axis in
                abs(part.mean[axis] - mean[axis]) < limits.drift && part.deviation[axis] < limits.deviation
            }
        }
        return isSteady ? mean : nil
    }
}

/// The mean and the standard deviation of vectors, on each axis.
private struct VectorMean {
    private(set) var count = 0.0
    private(set) var mean = SIMD3<Double>.zero
    private var squares = SIMD3<Double>.zero

    mutating func add(_ value: SIMD3<Double>) {
        count += 1
        let difference = value - mean
        mean += difference / count
        squares += difference * (value - mean)
    }

    var deviation: SIMD3<Double> { (squares / max(1, count)).squareRoot() }
}

/// Returns the angle between two vectors, in rad.
func angleBetween(_ left: SIMD3<Double>, _ right: SIMD3<Double>) -> Double {
    acos(max(-1, min(1, dot(left, right) / (length(left) * length(right)))))
}
