import Glibc

/// Detects rest: the readings of gyroscope and accelerometer stay close to their low-pass filtered values for a time.
struct RestDetector: Sendable {
    private(set) var isAtRest = false
    /// The low-pass filtered rotation rate, in rad/s.
    var rotationRate: SIMD3<Double> { gyroscope.value }

    private var gyroscope = LowPass<SIMD3<Double>>()
    private var accelerometer = LowPass<SIMD3<Double>>()
    private var gyroscopeFilter: LowPassCoefficients
    private var accelerometerFilter: LowPassCoefficients
    private var duration = 0.0

    private let time: Double
    private let minDuration: Double
    private let maxBias: Double
    /// Squared thresholds, in (rad/s)² and (m/s²)².
    private let gyroscopeThreshold: Double
    private let accelerometerThreshold: Double

    init(_ parameters: VQFParameters, gyroscopeInterval: Double, accelerometerInterval: Double) {
        time = parameters.restFilterTime
        minDuration = parameters.minRestDuration
        maxBias = parameters.maxBias * .pi / 180
        gyroscopeThreshold = pow(parameters.restGyroscopeThreshold * .pi / 180, 2)
        accelerometerThreshold = pow(parameters.restAccelerometerThreshold, 2)
        gyroscopeFilter = LowPassCoefficients(time: time, interval: gyroscopeInterval)
        accelerometerFilter = LowPassCoefficients(time: time, interval: accelerometerInterval)
    }

    @inline(__always)
    mutating func update(gyroscope rate: SIMD3<Double>, interval: Double) {
        let smooth = gyroscope.update(rate, gyroscopeFilter, settling: time, interval: interval)
        let deviation = rate - smooth
        let largest = max(abs(smooth.x), max(abs(smooth.y), abs(smooth.z)))
        if dot(deviation, deviation) >= gyroscopeThreshold || largest > maxBias { restart() }
    }

    @inline(__always)
    mutating func update(accelerometer force: SIMD3<Double>, interval: Double, elapsed: Double) {
        let smooth = accelerometer.update(force, accelerometerFilter, settling: time, interval: interval)
        let deviation = force - smooth
        if dot(deviation, deviation) >= accelerometerThreshold {
            restart()
        } else {
            duration += elapsed
            if duration >= minDuration { isAtRest = true }
        }
    }

    mutating func retune(gyroscopeInterval: Double) {
        let new = LowPassCoefficients(time: time, interval: gyroscopeInterval)
        gyroscope.adapt(from: gyroscopeFilter, to: new)
        gyroscopeFilter = new
    }

    mutating func retune(accelerometerInterval: Double) {
        let new = LowPassCoefficients(time: time, interval: accelerometerInterval)
        accelerometer.adapt(from: accelerometerFilter, to: new)
        accelerometerFilter = new
    }

    private mutating func restart() {
        duration = 0
        isAtRest = false
    }
}
