import Glibc

/// The weight of a sample in a resampled value by its distance: an ideal low pass (a sinc) cut short by a Hamming
/// window, as in Oppenheim & Schafer, *Discrete-Time Signal Processing*, chapter 7.
///
/// Symmetric, hence linear in phase: a resampled value is not late. Its response, in parts of the wanted rate R:
/// within 0.2 % up to 0.1 R, −0.2 dB at 0.2 R, −6 dB at 0.42 R, −12 dB at 0.5 R, below −50 dB from 0.7 R on. What could
/// show up, folded, below 0.3 R is thus less than a 300th of what it was.
struct ResamplingKernel: Sendable {
    /// How far it reaches to each side, in periods of the wanted rate.
    static let halfWidth = 3.0
    /// The frequency of −6 dB, in parts of the wanted rate.
    private static let cutOff = 0.42

    /// How far it reaches to each side, in µs.
    let reach: Double
    private let angularCutOff: Double
    private let windowFrequency: Double
    private let scale: Double

    /// - Parameter period: the wanted interval, in µs.
    init(period: Double) {
        reach = Self.halfWidth * period
        angularCutOff = 2 * .pi * Self.cutOff / period
        windowFrequency = .pi / reach
        scale = 2 * Self.cutOff / period
    }

    /// The weight at `distance` µs, so that the weights of evenly spaced samples, times their interval, add up to 1
    /// within a hundredth.
    func weight(_ distance: Double) -> Double {
        guard abs(distance) < reach else { return 0 }
        let angle = angularCutOff * distance
        let sinc = abs(angle) < 1e-6 ? 1 : sin(angle) / angle
        return scale * sinc * (0.54 + 0.46 * cos(windowFrequency * distance))
    }
}
