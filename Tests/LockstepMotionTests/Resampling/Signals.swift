import Glibc
import LockstepModel
import LockstepSensors

/// A time in 2023, in µs.
let start: Int64 = 1_700_000_000_123_456

/// Returns times of samples at `rate` over `seconds`, each off by up to `jitter` of an interval.
func times(rate: Double, seconds: Double, jitter: Double = 0, seed: UInt64 = 1) -> [Int64] {
    var generator = SeededGenerator(seed: seed)
    return (0..<Int(rate * seconds)).map { index in
        let off = jitter > 0 ? Double.random(in: -jitter...jitter, using: &generator) : 0
        return start + Int64(((Double(index) + off) * 1e6 / rate).rounded())
    }
}

/// Returns a tone of amplitude 1 on the x axis, a constant on y, and a slow tone on z.
func tone(_ frequency: Double, at times: [Int64], stream: SensorStream = .accelerometer) -> SampleBlock {
    let x = times.map { sin(2 * .pi * frequency * Double($0 - start) / 1e6) }
    let z = times.map { cos(2 * .pi * 0.5 * Double($0 - start) / 1e6) }
    return SampleBlock(stream: stream, times: times, columns: [x, times.map { _ in 0.25 }, z])
}

/// Measures the tone of `frequency` in values at `times` by least squares with a constant. Returns its amplitude and
/// its delay in s against a sine that starts at ``start``.
func measuredTone(_ frequency: Double, times: [Int64], values: [Double]) -> (amplitude: Double, delay: Double) {
    // Sine and cosine are nearly orthogonal over many periods; iteration removes the remainder.
    var sine = 0.0
    var cosine = 0.0
    var level = 0.0
    let angles = times.map { 2 * .pi * frequency * Double($0 - start) / 1e6 }
    let count = Double(times.count)
    for _ in 0..<20 {
        var sums = SIMD3<Double>(0, 0, 0)
        for (angle, value) in zip(angles, values) {
            let rest = value - sine * sin(angle) - cosine * cos(angle) - level
            sums += SIMD3(rest * sin(angle), rest * cos(angle), rest)
        }
        sine += 2 * sums.x / count
        cosine += 2 * sums.y / count
        level += sums.z / count
    }
    return ((sine * sine + cosine * cosine).squareRoot(), -atan2(cosine, sine) / (2 * .pi * frequency))
}

extension SampleBlock {
    /// Returns the samples of a range.
    func part(_ range: Range<Int>) -> SampleBlock {
        SampleBlock(stream: stream, times: Array(times[range]), columns: columns.map { Array($0[range]) })
    }

    /// Appends the samples of another block.
    mutating func append(_ other: SampleBlock) {
        for index in other.times.indices {
            append(time: Timestamp(microseconds: other.times[index]), values: other.values(at: index))
        }
    }
}
