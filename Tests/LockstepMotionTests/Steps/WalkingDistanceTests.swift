import Glibc
import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

/// The errors of distance and pace relative to the true values of simulated bodies.
@Suite("Distance and pace of simulated walks")
struct WalkingDistanceTests {
    private struct Errors {
        var distances: [Double] = []
        var paces: [Double] = []

        static func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }
        static func worst(_ values: [Double]) -> Double { values.max() ?? .infinity }
    }

    /// Returns relative errors over two walks of each body.
    private func errors(seeds: Range<UInt64>, options: (WalkingBody) -> PedometerOptions) -> Errors {
        var errors = Errors()
        for seed in seeds {
            let body = WalkingBody(seed: seed)
            let seconds = Int64(2 * body.pace.cycle) + 4
            var estimator = PedometerEstimator(options: options(body))
            let rows = estimator.update(simulated(seed: seed, seconds: seconds, rate: 50))
            let distance = rows.columns[2].reduce(0, +)
            errors.distances.append(abs(distance / body.distance(at: Double(seconds)) - 1))
            for index in rows.times.indices {
                let time = Double(rows.times[index]) / 1e6
                // Pace is averaged over six steps, so all of them must be at full stride.
                guard body.pace.envelope(body.pace.split(time).time) > 0.999,
                    body.pace.envelope(body.pace.split(time - 4.5).time) > 0.999
                else { continue }
                errors.paces.append(abs(rows.columns[3][index] * body.speed(at: time) - 1))
            }
        }
        return errors
    }

    @Test("with a given step length, distance and pace are within 2 % for each of 40 bodies")
    func calibrated() {
        let found = errors(seeds: 0..<40) { PedometerOptions(stepLength: $0.person.stepLength) }
        log("step length given", found)
        #expect(Errors.mean(found.distances) < 0.005 && Errors.worst(found.distances) < 0.02)
        #expect(found.paces.count > 400)
        #expect(Errors.mean(found.paces) < 0.005 && Errors.worst(found.paces) < 0.02)
    }

    /// The step length of a simulated body is independent of its cadence, which makes the estimate harder than in
    /// reality.
    @Test("without a step length, distance and pace are within 10 % on average, and within 22 % and 27 % for each body")
    func uncalibrated() {
        let found = errors(seeds: 0..<40) { _ in PedometerOptions() }
        log("nothing given", found)
        #expect(Errors.mean(found.distances) < 0.1 && Errors.worst(found.distances) < 0.22)
        #expect(Errors.mean(found.paces) < 0.1 && Errors.worst(found.paces) < 0.27)
    }

    private func log(_ title: String, _ errors: Errors) {
        let distance = "\(Errors.mean(errors.distances)) on average, \(Errors.worst(errors.distances)) at worst"
        let pace = "\(Errors.mean(errors.paces)) on average, \(Errors.worst(errors.paces)) at worst"
        print("\(title): distance off by \(distance); pace by \(pace)")
    }
}
