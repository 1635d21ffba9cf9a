import Foundation
import LockstepModel
import LockstepMotion
import LockstepSensors

/// Speed of the calculations with hindsight, in times real time, compared with the live step detector. Reading and writing
/// the store is not included; 'lockstep refine' prints the speed with both.
struct RefineBenchmark {
    private let trial: [MotionSample]
    private let walks: [SampleBlock]
    private let fixes: [LocationFix]
    private let rounds: Int

    /// - Parameter recordings: the folder `shared/data`.
    init(recordings: String, rounds: Int) throws {
        self.rounds = rounds
        let recording = try Recording(file: recordings + "/orientation/10_undisturbed_slow_translation_A.csv")
        let sensors = [SensorStream.gyroscope, .accelerometer, .magnetometer].compactMap {
            recording.samples(of: $0)?.columns
        }
        guard sensors.count == 3 else { throw Failure("the trial lacks a sensor") }
        func axes(_ sensor: Int, _ row: Int) -> SIMD3<Double> {
            SIMD3(sensors[sensor][0][row], sensors[sensor][1][row], sensors[sensor][2][row])
        }
        trial = recording.times.indices.map {
            MotionSample(
                time: recording.times[$0], rotationRate: axes(0, $0), force: axes(1, $0) * -9.80665,
                magneticField: axes(2, $0))
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: recordings + "/walks")
        walks = try names.filter { $0.hasSuffix(".csv") && $0 != "truth.csv" }.sorted().compactMap {
            try Recording(file: recordings + "/walks/" + $0).samples(of: .accelerometer)
        }
        // Five hours of walking in a circle, a fix a second.
        fixes = (0..<18_000).map { second in
            let angle = Double(second) / 40
            return LocationFix(
                coordinate: Coordinate(latitude: 47 + 0.0004 * sin(angle), longitude: 8 + 0.0006 * cos(angle)),
                time: Timestamp(microseconds: Int64(second) * 1_000_000))
        }
    }

    func run() throws -> [Comparison] {
        try compare(
            "refine", [Metric(name: "speed", unit: "times real time")], rounds: rounds,
            [
                Contender(name: "attitude, 286 Hz") { [attitude()] },
                Contender(name: "steps, 100 to 406 Hz") { [steps()] },
                Contender(name: "track, 1 Hz") { [track()] },
                Contender(name: "align, 100 to 406 Hz") { [align()] },
                Contender(name: "live steps, 100 to 406 Hz") { [liveSteps()] },
            ])
    }

    private var walked: Double {
        walks.reduce(0) { $0 + Double(($1.times.last ?? 0) - ($1.times.first ?? 0)) / 1e6 }
    }

    /// Returns how many seconds of data are processed in a second.
    private func speed(_ seconds: Double, _ work: () -> Int) -> Double {
        var results = 0
        let elapsed = ContinuousClock().measure { results = work() }
        precondition(results > 0, "the compiler must not remove the work")
        return seconds / (elapsed / .seconds(1))
    }

    private func attitude() -> Double {
        speed(Double((trial.last?.time ?? 0) - (trial.first?.time ?? 0)) / 1e6) {
            var stream = AttitudeStream()
            return trial.reduce(0) { $0 + stream.append($1).count } + stream.finish().count
        }
    }

    private func steps() -> Double {
        speed(walked) {
            walks.reduce(0) { count, walk in
                var refiner = StepRefiner()
                return count + refiner.update(walk).count + refiner.finish().count
            }
        }
    }

    private func liveSteps() -> Double {
        speed(walked) {
            walks.reduce(0) { count, walk in
                var estimator = PedometerEstimator()
                return count + estimator.update(walk).count + estimator.finish().count
            }
        }
    }

    private func track() -> Double {
        speed(Double(fixes.count)) {
            var smoother = TrackSmoother()
            return fixes.reduce(0) { $0 + smoother.append($1).count } + smoother.finish().count
        }
    }

    private func align() -> Double {
        speed(walked) {
            walks.reduce(0) { count, walk in
                var series = MagnitudeSeries()
                for (index, time) in walk.times.enumerated() {
                    series.append(
                        time: time, x: walk.columns[0][index], y: walk.columns[1][index], z: walk.columns[2][index])
                }
                var aligner = MotionAligner(minMotion: 0.02)
                aligner.add(series, series, offsets: -60_000_000...60_000_000)
                return count + ((try? aligner.result())?.segments ?? 0)
            }
        }
    }
}
