import LockstepModel

/// Divides the fixes of one device into segments at gaps.
///
/// It keeps the newest fix until the next one is known, to distinguish lone fixes from the starts of lines.
struct TrackSegmenter {
    /// A part of a track.
    enum Part: Equatable {
        /// The first fix of a line of at least two fixes.
        case start(TrackFix)
        /// A further fix of the line.
        case next(TrackFix)
        /// The end of the line, after its last fix.
        case end
        /// A fix that is further from its neighbours than the gap.
        case lone(TrackFix)
    }

    private let gap: Int64
    private var previous: TrackFix?
    private var isInLine = false

    /// - Parameter gap: the interval in µs from which on a fix starts a new segment.
    init(gap: Int64) { self.gap = gap }

    /// Adds a fix and returns the parts that are now known.
    mutating func add(_ fix: TrackFix) -> [Part] {
        guard let previous, fix.time - previous.time < gap else {
            let parts = end()
            previous = fix
            return parts
        }
        self.previous = fix
        if isInLine { return [.next(fix)] }
        isInLine = true
        return [.start(previous), .next(fix)]
    }

    /// Ends the track and returns its last parts.
    mutating func end() -> [Part] {
        defer { (previous, isInLine) = (nil, false) }
        if isInLine { return [.end] }
        return previous.map { [.lone($0)] } ?? []
    }
}
