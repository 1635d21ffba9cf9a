import Glibc

/// Tells a filter of the first order what to do with a sample: begin, go on, or pass it over.
struct FilterClock: Sendable, Hashable {
    enum Step {
        /// The first sample, or the first after a gap, or after the clock was set back.
        case begin
        /// What is left of the past: exp(−2π · cut-off · elapsed time).
        case goOn(remaining: Double)
        case passOver
    }

    /// A gap is longer than 1 s and than so many time constants.
    private static let longestGap = 5.0

    private let angularCutOff: Double
    private let gap: Double
    private var last: Int64?

    /// - Parameter cutOff: Hz, above 0.
    init(cutOff: Double) {
        precondition(cutOff > 0, "a cut-off frequency is above 0")
        angularCutOff = 2 * .pi * cutOff
        gap = max(1, Self.longestGap / angularCutOff)
    }

    mutating func step(_ value: SIMD3<Double>, time: Int64) -> Step {
        guard value.x.isFinite, value.y.isFinite, value.z.isFinite else { return .passOver }
        guard let last else {
            last = time
            return .begin
        }
        let elapsed = (Double(time) - Double(last)) / 1e6
        // Repeated and disordered samples are passed over; a clock that was set back must not mean silence until it
        // has caught up.
        if elapsed <= 0, elapsed >= -gap { return .passOver }
        self.last = time
        return elapsed > 0 && elapsed <= gap ? .goOn(remaining: exp(-angularCutOff * elapsed)) : .begin
    }

    mutating func reset() { last = nil }
}
