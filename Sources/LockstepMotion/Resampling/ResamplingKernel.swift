import Glibc

/// The weight of a sample in a resampled value as a function of its distance in time: the impulse response of an ideal
/// low-pass filter (a sinc) with a Hamming window, as in Oppenheim & Schafer, *Discrete-Time Signal Processing*,
/// chapter 7.
///
/// The kernel is symmetric, so its phase is linear and a resampled value has no delay. Its response relative to the
/// wanted rate R: within 0.2 % up to 0.1 R, −0.2 dB at 0.2 R, −6 dB at 0.42 R, −12 dB at 0.5 R, below −50 dB from 0.7 R
/// on. Aliases below 0.3 R are therefore attenuated more than 300 times.
struct ResamplingKernel: Sendable {
    /// The half-width of the kernel, in periods of the requested rate.
    static let halfWidth = 3.0
    /// The −6 dB frequency, relative to the requested rate.
    private static let cutOff = 0.42

    /// The half-width of the kernel, in µs.
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

    /// Returns the weight at `distance` in µs. The weights of evenly spaced samples, multiplied by their interval, add
    /// up to 1 within 1 %.
    func weight(_ distance: Double) -> Double {
        guard abs(distance) < reach else { return 0 }
        let angle = angularCutOff * distance
        let sinc = abs(angle) < 1e-6 ? 1 : sin(angle) / angle
        return scale * sinc * (0.54 + 0.46 * cos(windowFrequency * distance))
    }
}
