import Glibc

/// A Butterworth low pass of second order for one sample interval (bilinear transform).
struct LowPassCoefficients: Sendable {
    /// Feed forward b₀, b₁ = 2 b₀, b₂ = b₀; feedback a₁, a₂.
    let b0, b1, b2, a1, a2: Double

    /// - Parameters:
    ///   - time: time constant of the damped part of the step response, in s: the cut-off is at 1 / (√2 π time).
    ///   - interval: s between samples.
    init(time: Double, interval: Double) {
        guard time >= interval / 2 else {
            // Near the Nyquist frequency the filter would not be stable: everything passes.
            (b0, b1, b2, a1, a2) = (1, 0, 0, 0, 0)
            return
        }
        let cutOff = 2.0.squareRoot() / (2 * .pi * time)
        let warped = tan(.pi * cutOff * interval)
        let norm = warped * warped + 2.0.squareRoot() * warped + 1
        b0 = warped * warped / norm
        b1 = 2 * b0
        b2 = b0
        a1 = 2 * (warped * warped - 1) / norm
        a2 = (1 - 2.0.squareRoot() * warped + warped * warped) / norm
    }
}

/// The state of a low pass of several values.
///
/// So that nothing rests on a single sample, the mean of the samples so far is given during the first time constant, and
/// the filter starts from it.
struct LowPass<Vector: SIMD & Sendable>: Sendable where Vector.Scalar == Double {
    /// The last output.
    private(set) var value = Vector(repeating: 0)

    /// Samples averaged so far; 0 from when the filter runs.
    private var count = 0.0
    private var isRunning = false
    /// While averaging the sum; then the delayed sums of the filter (transposed direct form II).
    private var first = Vector(repeating: 0)
    private var second = Vector(repeating: 0)

    @inline(__always)
    mutating func update(
        _ input: Vector, _ filter: LowPassCoefficients, settling time: Double, interval: Double
    ) -> Vector {
        guard isRunning else { return settle(input, filter, time: time, interval: interval) }
        value = filter.b0 * input + first
        first = filter.b1 * input - filter.a1 * value + second
        second = filter.b2 * input - filter.a2 * value
        return value
    }

    private mutating func settle(
        _ input: Vector, _ filter: LowPassCoefficients, time: Double, interval: Double
    ) -> Vector {
        count += 1
        first += input
        value = first / count
        if count * interval >= time {
            isRunning = true
            // The state in which a constant input of this value gives the value.
            first = (1 - filter.b0) * value
            second = (filter.b2 - filter.a2) * value
        }
        return value
    }

    /// Goes over to another interval without a jump.
    mutating func adapt(from old: LowPassCoefficients, to new: LowPassCoefficients) {
        guard isRunning else { return }
        first += (old.b0 - new.b0) * value
        second += (old.b1 - new.b1 - old.a1 + new.a1) * value
    }
}

/// The part of the difference by which a first-order low pass of time constant `time` follows in `interval`, both in s.
func followingGain(time: Double, interval: Double) -> Double { time <= 0 ? 1 : 1 - exp(-interval / time) }
