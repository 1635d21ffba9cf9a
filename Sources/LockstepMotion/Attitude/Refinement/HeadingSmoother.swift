import Glibc

/// Smooths the angle about the vertical between attitudes without magnetometer and the earth frame.
///
/// The angle at a time is the direction of the weighted sum of the unit vectors of all measured angles. The weights
/// decrease exponentially with the distance in time, before and after. A disturbed field has a small weight, so that
/// it is used only if there is no undisturbed field for a long time.
struct HeadingSmoother: Sendable {
    /// The time in which the weight decreases by the factor e, in s.
    let time: Double
    /// The weight of a disturbed field, relative to an undisturbed one.
    let disturbedWeight: Double

    /// Rotates attitudes about the vertical into the earth frame.
    func correct(_ results: inout [RefinedAttitude], _ samples: [MotionSample]) {
        let vectors = results.indices.map { index -> SIMD2<Double> in
            guard let measured = samples[index].magneticField else { return SIMD2(0, 0) }
            let field = results[index].attitude.rotate(measured)
            let horizontal = hypot(field.x, field.y)
            guard horizontal > 0 else { return SIMD2(0, 0) }
            let weight = results[index].isMagneticFieldDisturbed ? disturbedWeight : 1
            return SIMD2(field.y, field.x) * (weight / horizontal)
        }
        var sums = vectors
        for index in sums.indices.dropFirst() {
            sums[index] += sums[index - 1] * decay(from: samples[index - 1], to: samples[index])
        }
        // The sum over later samples, without the sample itself.
        var later = SIMD2(0.0, 0.0)
        for index in sums.indices.reversed() {
            if index + 1 < sums.count {
                later = (later + vectors[index + 1]) * decay(from: samples[index], to: samples[index + 1])
            }
            let sum = sums[index] + later
            let angle = atan2(sum.y, sum.x)
            results[index].attitude = VQF.rotatedAboutVertical(results[index].attitude, by: angle)
        }
    }

    private func decay(from sample: MotionSample, to next: MotionSample) -> Double {
        exp(-Double(next.time - sample.time) / 1e6 / time)
    }
}
