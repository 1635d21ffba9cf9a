import Glibc

/// A peak of the band-passed magnitude that rises and falls by more than a threshold: a candidate for a step.
struct Swing: Sendable, Hashable {
    /// The time of the peak, in µs.
    var time: Int64
    /// The height of the peak above the preceding minimum, in g.
    var rise: Double
}

/// Finds swings: peaks whose rise and fall exceed a threshold.
///
/// The threshold is a fraction of the strength of recent swings, so that ripples on strong swings are ignored, and at
/// least the minimum given with each value.
struct SwingDetector: Sendable {
    private let fraction: Double
    private let decay: Double

    /// The strength of recent swings, in g. It increases half-way to each stronger swing, and decays in between.
    private var strength = 0.0
    private var isRising = true
    private var peak = -Double.infinity
    private var peakTime: Int64 = 0
    private var minimum = Double.infinity
    private var minimumBeforePeak = Double.infinity

    /// - Parameters:
    ///   - fraction: the fraction of the strength of recent swings that a rise and a fall must reach.
    ///   - decayTime: the time constant of that strength, in s.
    init(fraction: Double, decayTime: Double) {
        self.fraction = fraction
        decay = exp(-1 / (decayTime * AccelerationResampler.rate))
    }

    /// Processes the next band-passed value.
    ///
    /// - Parameters:
    ///   - time: the time of the value, in µs.
    ///   - minSwing: the smallest rise and fall that count, in g.
    /// - Returns: the swing that this value completes, or nil.
    mutating func update(_ value: Double, time: Int64, minSwing: Double) -> Swing? {
        strength *= decay
        let threshold = max(minSwing, fraction * strength)
        guard isRising else {
            if value < minimum {
                minimum = value
            } else if value > minimum + threshold {
                isRising = true
                minimumBeforePeak = minimum
                (peak, peakTime) = (value, time)
            }
            return nil
        }
        if value > peak {
            (peak, peakTime) = (value, time)
            return nil
        }
        guard value < peak - threshold else { return nil }
        isRising = false
        minimum = value
        let swing = Swing(time: peakTime, rise: peak - minimumBeforePeak)
        guard swing.rise >= threshold else { return nil }
        if swing.rise > strength { strength += (swing.rise - strength) / 2 }
        return swing
    }

    mutating func reset() {
        strength = 0
        isRising = true
        peak = -.infinity
        minimumBeforePeak = .infinity
    }
}
