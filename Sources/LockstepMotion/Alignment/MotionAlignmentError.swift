/// The reason why no offset was found, in the order of how close the recordings came to one.
public enum MotionAlignmentError: Error, Sendable, Hashable {
    /// Both devices have samples at times that may belong together for this duration only, in s.
    case tooShort(seconds: Double)
    /// A device has too few samples a second.
    case tooSlow(isFirst: Bool, rate: Double)
    /// A device was hardly moved: the standard deviation of its magnitude, in the unit of the sensor.
    case noMotion(isFirst: Bool, deviation: Double)
    /// The motions do not correlate more than independent ones.
    case noMatch(correlation: Double, significance: Double)
    /// The correlation still grows at the limit of the searched offsets, in µs.
    case outOfRange(offset: Double)
    /// Two offsets, in µs, fit about equally well.
    case ambiguous(offset: Double, other: Double, ratio: Double)
    /// Segments of the recordings do not agree.
    case inconsistent(segments: Int, consistent: Int)
}

extension MotionAlignmentError: Comparable {
    /// Whether the recordings came less close to an offset.
    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .tooShort: 0
        case .tooSlow: 1
        case .noMotion: 2
        case .noMatch: 3
        case .outOfRange: 4
        case .ambiguous: 5
        case .inconsistent: 6
        }
    }
}
