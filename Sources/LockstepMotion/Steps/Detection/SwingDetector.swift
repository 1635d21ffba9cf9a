import Glibc

/// A rise and a fall of the signal: what a step looks like.
struct Swing: Sendable, Hashable {
    /// When it was highest, in µs.
    var time: Int64
    /// From the low before it to its height, in g.
    var rise: Double
}

/// Finds swings: turning points of the signal that lie further apart than a threshold.
///
/// The threshold is a part of what swings were lately, so that little waves on large ones are none, and at least what
/// the caller says.
struct SwingDetector: Sendable {
    private let part: Double
    private let remaining: Double

    /// What swings rise to, in g: follows stronger ones by half, and fades in between.
    private var strength = 0.0
    private var isRising = true
    private var highest = -Double.infinity
    private var highestTime: Int64 = 0
    private var lowest = Double.infinity
    private var lowBefore = Double.infinity

    /// - Parameters:
    ///   - part: of the strength of swings that a rise and a fall have to reach.
    ///   - fading: time constant of that strength, in s.
    init(part: Double, fading: Double) {
        self.part = part
        remaining = exp(-1 / (fading * MagnitudeGrid.rate))
    }

    /// Takes the next value on the grid.
    /// - Parameters:
    ///   - time: in µs.
    ///   - least: the smallest rise and fall that counts, in g.
    /// - Returns: the swing whose fall it completes.
    mutating func update(_ value: Double, time: Int64, least: Double) -> Swing? {
        strength *= remaining
        let threshold = max(least, part * strength)
        guard isRising else {
            if value < lowest {
                lowest = value
            } else if value > lowest + threshold {
                isRising = true
                lowBefore = lowest
                (highest, highestTime) = (value, time)
            }
            return nil
        }
        if value > highest {
            (highest, highestTime) = (value, time)
            return nil
        }
        guard value < highest - threshold else { return nil }
        isRising = false
        lowest = value
        let swing = Swing(time: highestTime, rise: highest - lowBefore)
        guard swing.rise >= threshold else { return nil }
        if swing.rise > strength { strength += (swing.rise - strength) / 2 }
        return swing
    }

    mutating func reset() {
        strength = 0
        isRising = true
        highest = -.infinity
        lowBefore = .infinity
    }
}
