import LockstepModel
import LockstepMotion
import LockstepSensors

/// Speed of attitude estimation, compared with the batch call of the C++ reference implementation. For each sample of
/// three sensors, both return two attitudes, the gyroscope bias, its deviation, and two flags.
struct AttitudeBenchmark {
    private let gyroscope, accelerometer, magnetometer: [SIMD3<Double>]
    private let interval: Double

    /// - Parameter recordings: files of `shared/data/orientation`.
    init(recordings: [String]) throws {
        var samples: [SensorStream: [SIMD3<Double>]] = [:]
        var interval = 0.0
        for file in recordings {
            let recording = try Recording(file: file)
            interval =
                Double((recording.times.last ?? 0) - recording.times[0]) / Double(recording.times.count - 1) / 1e6
            for block in recording.blocks {
                let columns = block.columns
                samples[block.stream, default: []] += block.times.indices.map {
                    SIMD3(columns[0][$0], columns[1][$0], columns[2][$0])
                }
            }
        }
        gyroscope = samples[.gyroscope] ?? []
        accelerometer = (samples[.accelerometer] ?? []).map { $0 * -9.80665 }
        magnetometer = samples[.magnetometer] ?? []
        self.interval = interval
    }

    /// Returns the speed in samples per second.
    func run() -> Double {
        let clock = ContinuousClock()
        var vqf = VQF(interval: interval)
        var count = 0
        let elapsed = clock.measure {
            let track = vqf.track(gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: magnetometer)
            count = track.attitudes9D.count
        }
        precondition(count == gyroscope.count, "there must be an attitude for each sample")
        return Double(count) / (elapsed / .seconds(1))
    }
}
