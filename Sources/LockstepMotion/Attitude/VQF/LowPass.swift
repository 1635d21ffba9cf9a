import Glibc

/// The coefficients of a second-order Butterworth low-pass filter for one sample interval (bilinear transform).
struct LowPassCoefficients: Sendable {
    /// The feed-forward coefficients b₀, b₁ = 2 b₀, b₂ = b₀ and the feedback coefficients a₁, a₂.
    let b0, b1, b2, a1, a2: Double

    /// Designs the filter.
    ///
    /// - Parameters:
    ///   - time: the time constant of the damped part of the step response, in s. The cut-off frequency is 1 / (√2 π
    ///     time).
    ///   - interval: the sample interval, in s.
    init(time: Double, interval: Double) {
        guard time >= interval / 2 else {
            // Near the Nyquist frequency the filter would be unstable, so it passes its input.
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

/// The state of a low-pass filter for a vector of values.
///
/// During the first time constant the output is the mean of all samples, so that it does not depend on the first sample
/// alone. The filter then continues from that mean.
struct LowPass<Vector: SIMD & Sendable>: Sendable where Vector.Scalar == Double {
    /// The last output.
    private(set) var value = Vector(repeating: 0)

    /// The number of samples averaged so far.
    private var count = 0.0
    private var isRunning = false
    /// While averaging: the sum. Afterwards: the delay elements of the filter (transposed direct form II).
    private var first = Vector(repeating: 0)
    private var second = Vector(repeating: 0)

    /// Creates a filter that averages its first samples.
    init() {}

    /// Creates a filter in the steady state for a constant input.
    init(steady value: Vector, _ filter: LowPassCoefficients) {
        self.value = value
        isRunning = true
        first = (1 - filter.b0) * value
        second = (filter.b2 - filter.a2) * value
    }

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
            // The steady state for a constant input of this value.
            first = (1 - filter.b0) * value
            second = (filter.b2 - filter.a2) * value
        }
        return value
    }

    /// Changes to another sample interval without a step in the output.
    mutating func adapt(from old: LowPassCoefficients, to new: LowPassCoefficients) {
        guard isRunning else { return }
        first += (old.b0 - new.b0) * value
        second += (old.b1 - new.b1 - old.a1 + new.a1) * value
    }
}

/// Returns the gain of a first-order low-pass filter with time constant `time` for one `interval`, both in s.
func followingGain(time: Double, interval: Double) -> Double { time <= 0 ? 1 : 1 - exp(-interval / time) }
