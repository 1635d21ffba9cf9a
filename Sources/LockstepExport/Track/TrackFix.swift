import LockstepModel
import LockstepStore

/// A row of the stream `location`, or of refined positions, that has a position.
struct TrackFix: Equatable {
    var device: DeviceAddress
    var time: Timestamp
    var latitude: Double
    var longitude: Double
    /// The altitude above mean sea level in m, or nil if it is unknown.
    var altitude: Double?
    /// The values of ``measures``; NaN if unknown.
    var measures: [Double]
    /// The dimensions of the fix, or nil if they are unknown.
    var dimensions: Int?

    /// The columns of measured values beside the position.
    static let measures = ["hacc", "vacc", "speed", "course"]

    /// Creates a fix, or returns nil if the row has no valid position.
    init?(_ row: SampleRow, _ columns: TrackColumns = .location) {
        let (latitude, longitude) = (row.values[columns.latitude], row.values[columns.longitude])
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        device = row.device
        time = row.time
        self.latitude = latitude
        self.longitude = longitude
        altitude = columns.altitude.map { row.values[$0] }.flatMap { $0.isFinite ? $0 : nil }
        measures = columns.measures.map { $0.map { row.values[$0] } ?? .nan }
        dimensions = columns.fix.flatMap { Int(exactly: row.values[$0]) }
    }
}

/// The indices of the columns of positions.
struct TrackColumns: Sendable {
    let latitude: Int
    let longitude: Int
    let altitude: Int?
    /// The index of each of ``TrackFix/measures``.
    let measures: [Int?]
    /// The index of the dimensions of a fix.
    let fix: Int?

    static let location = TrackColumns(.location)

    /// - Precondition: the stream has the columns `lat` and `lon`.
    init(_ stream: SensorStream) {
        func index(_ name: String) -> Int? { stream.columns.firstIndex { $0.name == name } }
        guard let latitude = index("lat"), let longitude = index("lon") else {
            preconditionFailure("the stream \(stream) has no positions")
        }
        (self.latitude, self.longitude, altitude) = (latitude, longitude, index("alt"))
        measures = TrackFix.measures.map(index)
        // In refined positions, this column says whether there was a fix.
        fix = stream == .location ? index("fix") : nil
    }
}

/// Divides the fixes of one device into segments at gaps.
///
/// It keeps the newest fix until the next one is known, to distinguish lone fixes from the starts of lines.
struct TrackSegmenter {
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
