import Glibc

/// Decides how a first-order filter processes a sample: start, advance or ignore.
struct FilterTiming: Sendable, Hashable {
    /// How to process a sample.
    enum Step {
        /// Start from this sample: it is the first one, or the first after a gap or after the clock was set back.
        case start
        /// Advance: the previous state decays by exp(−2π · cut-off · elapsed time).
        case advance(decay: Double)
        case ignore
    }

    /// The gap after which a filter restarts, in time constants. The gap is never less than 1 s.
    private static let maxGapTimeConstants = 5.0

    private let angularCutOff: Double
    private let gap: Double
    private var last: Int64?

    /// - Parameter cutOff: the cut-off frequency in Hz, above 0.
    init(cutOff: Double) {
        precondition(cutOff > 0, "the cut-off frequency must be above 0")
        angularCutOff = 2 * .pi * cutOff
        gap = max(1, Self.maxGapTimeConstants / angularCutOff)
    }

    mutating func step(_ value: SIMD3<Double>, time: Int64) -> Step {
        guard value.x.isFinite, value.y.isFinite, value.z.isFinite else { return .ignore }
        guard let last else {
            last = time
            return .start
        }
        let elapsed = (Double(time) - Double(last)) / 1e6
        // Ignore repeated and out-of-order samples. If the clock was set back further than a gap, restart instead of
        // waiting until it has caught up.
        if elapsed <= 0, elapsed >= -gap { return .ignore }
        self.last = time
        return elapsed > 0 && elapsed <= gap ? .advance(decay: exp(-angularCutOff * elapsed)) : .start
    }

    mutating func reset() { last = nil }
}
