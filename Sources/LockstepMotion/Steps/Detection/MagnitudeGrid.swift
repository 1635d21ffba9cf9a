import Glibc

/// Turns magnitudes at any times into magnitudes at 50 a second, so that all that follows sees one rate.
///
/// A value is the mean over 20 ms of the straight lines that join the samples: of fast samples their average, which
/// keeps what is above 25 Hz out; between slow ones the line. Where samples drop out for less than a gap the line goes
/// on to the next.
struct MagnitudeGrid: Sendable {
    /// Values a second.
    static let rate = 50.0
    /// The length of a cell in µs.
    static let cell: Int64 = 20_000
    /// Samples further apart than this, in µs, are not joined.
    static let longestGap: Int64 = 1_000_000

    /// What a sample does.
    enum Arrival {
        /// It is the first, or the first after a gap: the grid begins at it.
        case begins
        /// It goes on; ``next()`` gives the values that are now complete.
        case goesOn
        /// It is not later than the one before, or has no finite magnitude or a time beyond 2⁶² µs, and is passed over.
        case passedOver
    }

    /// The end of the cell that ``next()`` gave last, in µs; at the beginning the first sample.
    private(set) var time: Int64 = 0

    private var isEmpty = true
    private var last: Int64 = 0
    private var value = 0.0
    /// Where the summing stands, between `last` and `target`.
    private var position: Int64 = 0
    private var target: Int64 = 0
    private var slope = 0.0
    /// The integral over the cell so far, in g · µs.
    private var sum = 0.0

    /// Takes a sample: µs, and g.
    mutating func add(time now: Int64, magnitude: Double) -> Arrival {
        // Near the ends of time the next cell could not be told.
        guard magnitude.isFinite, now.magnitude < 1 << 62, isEmpty || now > target else { return .passedOver }
        let elapsed = now - target
        guard !isEmpty, elapsed <= Self.longestGap else {
            isEmpty = false
            (last, target, position, time) = (now, now, now, now)
            (value, slope, sum) = (magnitude, 0, 0)
            return .begins
        }
        let before = value + slope * Double(target - last)
        (last, target) = (target, now)
        value = before
        slope = (magnitude - before) / Double(elapsed)
        return .goesOn
    }

    /// The next value that is complete, in g; nil when the next sample has to come first.
    mutating func next() -> Double? {
        let end = min(time + Self.cell, target)
        let middle = Double(position - last) + Double(end - position) / 2
        sum += (value + slope * middle) * Double(end - position)
        position = end
        guard end == time + Self.cell else { return nil }
        let mean = sum / Double(Self.cell)
        time = end
        sum = 0
        return mean
    }
}
