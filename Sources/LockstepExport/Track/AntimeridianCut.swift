import LockstepModel

/// Cuts lines where they cross the 180th meridian, as RFC 7946 (section 3.1.9) recommends: one line ends at the
/// meridian, and the next one starts there.
struct AntimeridianCut {
    /// The first fix of a line, until the next fix is known.
    private var first: TrackFix?
    private var last: TrackFix?

    /// Returns the parts without crossings. A point on the meridian is interpolated and has no ``TrackFix/measures``.
    mutating func cut(_ part: TrackSegmenter.Part) -> [TrackSegmenter.Part] {
        switch part {
        case .lone: return [part]
        case .start(let fix):
            first = fix
            return []
        case .next(let fix): return next(fix)
        case .end:
            (first, last) = (nil, nil)
            return [part]
        }
    }

    private mutating func next(_ fix: TrackFix) -> [TrackSegmenter.Part] {
        var parts: [TrackSegmenter.Part] = []
        var fix = fix
        if var start = first {
            start.joinSide(of: fix)
            parts.append(.start(start))
            (first, last) = (nil, start)
        }
        guard let last else { return [] }
        fix.joinSide(of: last)
        defer { self.last = fix }
        guard abs(fix.longitude - last.longitude) > 180 else { return parts + [.next(fix)] }
        let side = last.longitude < 0 ? -180.0 : 180.0
        var edge = last.crossing(to: fix, at: side)
        if last.longitude != side { parts.append(.next(edge)) }
        edge.longitude = -side
        return parts + [.end, .start(edge), .next(fix)]
    }
}

extension TrackFix {
    /// If the fix is on the 180th meridian, gives its longitude the sign of the other fix.
    fileprivate mutating func joinSide(of other: TrackFix) {
        if abs(longitude) == 180 { longitude = other.longitude < 0 ? -180 : 180 }
    }

    /// Returns the point at which the shorter way to `other` crosses the 180th meridian, whose longitude on this side is
    /// `side`.
    fileprivate func crossing(to other: TrackFix, at side: Double) -> TrackFix {
        let part = (side - longitude) / (other.longitude + 2 * side - longitude)
        let between = { (from: Double, to: Double) in ((from + (to - from) * part) * 1e9).rounded() / 1e9 }
        var edge = self
        edge.time = time + Int64((Double(other.time - time) * part).rounded())
        edge.latitude = between(latitude, other.latitude)
        edge.longitude = side
        edge.altitude = if let altitude, let end = other.altitude { between(altitude, end) } else { nil }
        edge.measures = edge.measures.map { _ in .nan }
        edge.dimensions = nil
        return edge
    }
}
