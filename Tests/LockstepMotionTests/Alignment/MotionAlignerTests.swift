import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

/// Offsets of devices that were moved together, where the truth is known.
@Suite("Alignment by motion")
struct MotionAlignerTests {
    private static let second: Int64 = 1_000_000

    /// A second device that takes part in a recorded motion: turned, slower, noisy, and with another clock.
    private struct Companion {
        var rate: Double
        var noise: Double
        /// The first device's time minus the second's at time 0, in µs, and its change in ppm.
        var offset: Double
        var drift = 0.0

        func series(of walk: SampleBlock, seconds: Double = .infinity) -> MagnitudeSeries {
            var generator = TestGenerator(state: 7)
            var series = MagnitudeSeries()
            let (times, columns) = (walk.times, walk.columns)
            var (time, next) = (Double(times[0]), 1)
            while time < min(Double(times[times.count - 1]), seconds * 1e6) {
                while Double(times[next]) < time { next += 1 }
                let part = (time - Double(times[next - 1])) / Double(times[next] - times[next - 1])
                let axes = (0..<3).map {
                    columns[$0][next - 1] + (columns[$0][next] - columns[$0][next - 1]) * part
                        + noise * generator.normal()
                }
                let clock = Int64((time - offset - time * drift * 1e-6).rounded())
                series.append(time: clock, x: -axes[1], y: axes[2], z: axes[0])
                time += 1e6 / rate
            }
            return series
        }
    }

    private func series(of walk: SampleBlock, seconds: Double = .infinity) -> MagnitudeSeries {
        var series = MagnitudeSeries()
        for (index, time) in walk.times.enumerated() where Double(time) < seconds * 1e6 {
            series.append(time: time, x: walk.columns[0][index], y: walk.columns[1][index], z: walk.columns[2][index])
        }
        return series
    }

    private func alignment(
        _ first: MagnitudeSeries, _ second: MagnitudeSeries, reach: Int64 = 10, minMotion: Double = 0.02
    ) throws(MotionAlignmentError) -> MotionAlignment {
        var aligner = MotionAligner(minMotion: minMotion)
        aligner.add(first, second, offsets: -reach * Self.second...reach * Self.second)
        return try aligner.result()
    }

    @Test(
        "the offset of walks with another rate, noise and drift is found within its bound, to a fraction of a sample",
        .enabled(if: sharedData != nil))
    func walks() throws {
        let companions = [
            Companion(rate: 50, noise: 0.03, offset: -3_456_789), Companion(rate: 100, noise: 0.1, offset: 1_234_567.8),
            Companion(rate: 25, noise: 0.1, offset: 4321, drift: 100),
        ]
        var errors: [Double] = []
        for (index, walk) in try RecordedWalk.walks.get().enumerated() {
            let companion = companions[index % companions.count]
            let found = try alignment(series(of: walk.samples), companion.series(of: walk.samples))
            let error = found.offset - companion.offset - found.time * companion.drift * 1e-6
            print("\(walk.name) at \(companion.rate) Hz: \(error) µs of \(found.bound), second \(found.secondPeak)")
            #expect(abs(error) <= found.bound, "\(walk.name)")
            #expect(found.bound < 5000, "\(walk.name)")
            let drift = try #require(found.drift)
            let bound = try #require(found.driftBound)
            #expect(abs(drift - companion.drift) <= bound, "\(walk.name)")
            errors.append(abs(error))
        }
        print("mean error: \(errors.reduce(0, +) / Double(errors.count)) µs")
        #expect(errors.count == 15 && errors.reduce(0, +) / Double(errors.count) < 500)
    }

    @Test("walks of different people and times are refused", .enabled(if: sharedData != nil))
    func unrelated() throws {
        let walks = try RecordedWalk.walks.get().map { series(of: $0.samples, seconds: 60) }
        for index in walks.indices {
            let other = walks[(index + 4) % walks.count]
            #expect(throws: MotionAlignmentError.self) { try alignment(walks[index], other) }
        }
    }

    /// Gyroscope and cameras observe the same motion independently.
    @Test("the gyroscope agrees with the optical reference in three trials", .enabled(if: sharedData != nil))
    func opticalReference() throws {
        let offsets = try VQFReferenceTests.trials.map { name -> MotionAlignment in
            let columns = ["qw", "qx", "qy", "qz"]
            let recording = try Recording(file: sharedFile("orientation/" + name), extras: columns)
            let values = try columns.map { try #require(recording.column($0)) }
            let rates = try #require(recording.samples(of: .gyroscope))
            var (gyroscope, optical) = (MagnitudeSeries(), MagnitudeSeries())
            var last: (time: Int64, attitude: Quaternion)?
            for (row, time) in recording.times.enumerated() where time < 80 * Self.second {
                gyroscope.append(
                    time: time, x: rates.columns[0][row], y: rates.columns[1][row], z: rates.columns[2][row])
                guard values[0][row].isFinite, time - (last?.time ?? .min / 2) >= 10_000 else { continue }
                let attitude = Quaternion(
                    scalar: values[0][row], vector: SIMD3(values[1][row], values[2][row], values[3][row]))
                if let last, time - last.time < 20_000 {
                    let turn = length((last.attitude.inverse * attitude).rotationVector)
                    optical.append(time: (time + last.time) / 2, x: turn / Double(time - last.time) * 1e6, y: 0, z: 0)
                }
                last = (time, attitude)
            }
            return try alignment(gyroscope, optical, minMotion: 0.05)
        }
        print("gyroscope against cameras: \(offsets.map(\.offset)) ± \(offsets.map(\.bound)) µs")
        for found in offsets {
            // The gyroscope's filter delays it by little more than a sample of 3.5 ms, in each trial by as much.
            #expect(found.correlation > 0.95 && abs(found.offset) < 7000)
            #expect(abs(found.offset - offsets[0].offset) <= found.bound + offsets[0].bound)
        }
    }

    /// Irregular motion at 50 Hz: sums of sines whose frequencies have no common period.
    private func shaking(
        from start: Double, seconds: Double, rate: Double = 50, clock: (Double) -> Double = { $0 }
    ) -> MagnitudeSeries {
        var series = MagnitudeSeries()
        for index in 0..<Int(seconds * rate) {
            let time = start + Double(index) / rate
            let value = [1.1, 1.73, 2.39, 3.17, 4.71].reduce(0.0) { $0 + sin(2 * .pi * $1 * time * (1 + 0.003 * time)) }
            series.append(time: Int64((clock(time) * 1e6).rounded()), x: 0, y: 0, z: 1 + 0.2 * value)
        }
        return series
    }

    @Test("blocks of a long recording give the drift")
    func blocks() throws {
        var aligner = MotionAligner(minMotion: 0.02)
        for block in 0..<4 {
            let start = Double(block) * 300
            let first = shaking(from: start, seconds: 30)
            let second = shaking(from: start - 1, seconds: 32) { $0 * 1.00004 + 0.25 }
            aligner.add(first, second, offsets: -2 * Self.second...2 * Self.second)
        }
        let found = try aligner.result()
        #expect(abs(found.offset - (-250_000 - 0.00004 * found.time)) <= found.bound)
        let (drift, bound) = (try #require(found.drift), try #require(found.driftBound))
        #expect(abs(drift + 40) <= bound + 0.05 && bound < 5, "\(drift) within \(bound)")
    }

    @Test("gaps and samples that are not in order do not matter")
    func gaps() throws {
        let whole = shaking(from: 0, seconds: 40)
        var sparse = MagnitudeSeries()
        for (time, value) in zip(whole.times, whole.values) where !(10_000_000..<16_000_000).contains(time) {
            sparse.append(time: time + 777_777, x: value, y: 0, z: 0)
            sparse.append(time: time, x: 99, y: 0, z: 0)
            sparse.append(time: time + 777_778, x: .nan, y: 0, z: 0)
        }
        let found = try alignment(whole, sparse, reach: 3)
        #expect(abs(found.offset + 777_777) <= found.bound && found.bound < 500)
    }

    @Test("recordings without a common, unambiguous motion are refused with the reason")
    func refusals() {
        func error(
            _ first: MagnitudeSeries, _ second: MagnitudeSeries, reach: Int64 = 3
        ) -> MotionAlignmentError? {
            do {
                _ = try alignment(first, second, reach: reach)
                return nil
            } catch { return error }
        }
        func regular(_ seconds: Double, phase: Double) -> MagnitudeSeries {
            var series = MagnitudeSeries()
            for index in 0..<Int(seconds * 50) {
                series.append(
                    time: Int64(index) * 20_000, x: 1 + 0.3 * sin(4 * .pi * (Double(index) / 50 + phase)), y: 0, z: 0)
            }
            return series
        }
        let motion = shaking(from: 0, seconds: 20)
        if case .tooShort(let seconds) = error(motion, shaking(from: 0, seconds: 3)) {
            #expect(abs(seconds - 3) < 0.1)
        } else {
            Issue.record("too short: \(String(describing: error(motion, shaking(from: 0, seconds: 3))))")
        }
        if case .tooSlow(isFirst: false, let rate) = error(motion, shaking(from: 0, seconds: 20, rate: 5)) {
            #expect(rate == 5)
        } else {
            Issue.record("too slow")
        }
        var rest = MagnitudeSeries()
        for index in 0..<1000 { rest.append(time: Int64(index) * 20_000, x: 1, y: 0, z: 0) }
        #expect(error(rest, motion) == .noMotion(isFirst: true, deviation: 0))
        #expect(error(motion, rest) == .noMotion(isFirst: false, deviation: 0))
        // A metronome fits at each beat.
        switch error(regular(30, phase: 0), regular(30, phase: 0.1)) {
        case .noMatch?, .ambiguous?: break
        default: Issue.record("regular motion must be refused")
        }
        if case .noMatch = error(motion, shaking(from: 500, seconds: 20) { $0 - 500 }) {
        } else {
            Issue.record("another motion must be refused")
        }
        var empty = MotionAligner(minMotion: 0.02)
        #expect(throws: MotionAlignmentError.tooShort(seconds: 0)) { try empty.result() }
        empty.add(MagnitudeSeries(), MagnitudeSeries(), offsets: 0...1)
        #expect(throws: MotionAlignmentError.tooShort(seconds: 0)) { try empty.result() }
    }

    @Test("the correlation by Fourier transforms is Pearson's over the common values")
    func correlation() {
        let first = MotionGrid(shaking(from: 0, seconds: 12))
        let second = MotionGrid(shaking(from: 2, seconds: 11) { $0 + 0.4 })
        let correlation = MotionCorrelation(first, second, shifts: -300...900)
        for shift in [-200, 0, 313, 700] {
            let pairs = first.values.indices.compactMap { index -> (Double, Double)? in
                guard second.values.indices.contains(index - shift),
                    first.known[index] * second.known[index - shift] == 1
                else { return nil }
                return (first.values[index], second.values[index - shift])
            }
            let count = Double(pairs.count)
            let (x, y) = (pairs.reduce(0) { $0 + $1.0 } / count, pairs.reduce(0) { $0 + $1.1 } / count)
            let covariance = pairs.reduce(0) { $0 + ($1.0 - x) * ($1.1 - y) }
            let variances = (
                pairs.reduce(0) { $0 + ($1.0 - x) * ($1.0 - x) }, pairs.reduce(0) { $0 + ($1.1 - y) * ($1.1 - y) }
            )
            let expected = covariance / (variances.0 * variances.1).squareRoot()
            #expect(correlation.overlaps[shift + 300] == count)
            #expect(abs(correlation.values[shift + 300] - expected) < 1e-9)
        }
    }
}

/// A generator with a fixed sequence, so that tests are repeatable.
struct TestGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let mixed = (state ^ (state >> 33)) &* 0xff51_afd7_ed55_8ccd
        return mixed ^ (mixed >> 29)
    }

    /// Returns a value of the normal distribution, by the sum of twelve uniform ones.
    mutating func normal() -> Double {
        (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &self) }
    }
}
