import Glibc

/// A band-pass filter for magnitudes at the step detector's fixed rate: a second-order Butterworth low-pass followed by
/// a second-order Butterworth high-pass (bilinear transform).
struct BandPass: Sendable {
    private var low: Section
    private var high: Section
    private var origin: Double?

    /// - Parameters:
    ///   - from: the lower cut-off frequency (−3 dB), in Hz.
    ///   - to: the upper cut-off frequency (−3 dB), in Hz.
    init(from: Double, to: Double) {
        low = Section(lowPass: to)
        high = Section(highPass: from)
    }

    /// Filters the next value. The filter starts in the steady state of the first value, so the first output is 0.
    mutating func update(_ value: Double) -> Double {
        let level = origin ?? value
        origin = level
        return high.update(low.update(value - level))
    }

    mutating func reset() {
        origin = nil
        low.reset()
        high.reset()
    }
}

/// A second-order filter section in transposed direct form II.
private struct Section: Sendable {
    private let numerator: (Double, Double, Double)
    private let denominator: (Double, Double)
    private var state = (0.0, 0.0)

    init(lowPass cutOff: Double) {
        let (k, scale, denominator) = Self.poles(cutOff)
        let gain = k * k * scale
        numerator = (gain, 2 * gain, gain)
        self.denominator = denominator
    }

    init(highPass cutOff: Double) {
        let (_, scale, denominator) = Self.poles(cutOff)
        numerator = (scale, -2 * scale, scale)
        self.denominator = denominator
    }

    private static func poles(_ cutOff: Double) -> (k: Double, scale: Double, denominator: (Double, Double)) {
        let k = tan(.pi * cutOff / AccelerationResampler.rate)
        let damping = 2.0.squareRoot() * k
        let scale = 1 / (1 + damping + k * k)
        return (k, scale, (2 * (k * k - 1) * scale, (1 - damping + k * k) * scale))
    }

    mutating func update(_ value: Double) -> Double {
        let result = numerator.0 * value + state.0
        state.0 = numerator.1 * value - denominator.0 * result + state.1
        state.1 = numerator.2 * value - denominator.1 * result
        return result
    }

    mutating func reset() { state = (0, 0) }
}
