import LockstepModel
import LockstepMotion
import LockstepSensors

/// Attitude from recordings, beside the reference implementation's own batch call in C++: both take a sample of each of
/// three sensors, and keep for each both attitudes, the bias, its deviation, and the two flags.
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

    /// Samples a second of ours.
    func run() -> Double {
        let clock = ContinuousClock()
        var vqf = VQF(interval: interval)
        var count = 0
        let elapsed = clock.measure {
            let track = vqf.track(gyroscope: gyroscope, accelerometer: accelerometer, magnetometer: magnetometer)
            count = track.attitudes9D.count
        }
        precondition(count == gyroscope.count, "an attitude for each sample")
        return Double(count) / (elapsed / .seconds(1))
    }
}
