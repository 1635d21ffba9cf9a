import Glibc

/// Keeps of a signal on the grid what swings with steps: a low pass and a high pass of the second order (Butterworth,
/// by the bilinear transform), one after the other.
struct BandPass: Sendable {
    private var low: Section
    private var high: Section
    private var origin: Double?

    /// - Parameters:
    ///   - from: −3 dB here and less below, in Hz.
    ///   - to: −3 dB here and less above, in Hz.
    init(from: Double, to: Double) {
        low = Section(lowPass: to)
        high = Section(highPass: from)
    }

    /// Takes the next value on the grid. The first is taken as if it had been so for ever: the result is 0.
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

/// A filter of the second order, in the transposed direct form II.
private struct Section: Sendable {
    private let forward: (Double, Double, Double)
    private let back: (Double, Double)
    private var state = (0.0, 0.0)

    init(lowPass cutOff: Double) {
        let (k, scale, back) = Self.poles(cutOff)
        let gain = k * k * scale
        forward = (gain, 2 * gain, gain)
        self.back = back
    }

    init(highPass cutOff: Double) {
        let (_, scale, back) = Self.poles(cutOff)
        forward = (scale, -2 * scale, scale)
        self.back = back
    }

    private static func poles(_ cutOff: Double) -> (k: Double, scale: Double, back: (Double, Double)) {
        let k = tan(.pi * cutOff / MagnitudeGrid.rate)
        let damping = 2.0.squareRoot() * k
        let scale = 1 / (1 + damping + k * k)
        return (k, scale, (2 * (k * k - 1) * scale, (1 - damping + k * k) * scale))
    }

    mutating func update(_ value: Double) -> Double {
        let result = forward.0 * value + state.0
        state.0 = forward.1 * value - back.0 * result + state.1
        state.1 = forward.2 * value - back.1 * result
        return result
    }

    mutating func reset() { state = (0, 0) }
}
