import Glibc
public import LockstepModel
public import LockstepMotion

/// What a rule watches.
public enum Condition: Sendable, Hashable {
    /// A device has one of these life-cycle states for at least a time in µs.
    case state(Set<LifecycleState>, lasting: Int64)
    /// A value of samples passes a limit.
    case value(ValueCondition)
    /// A device was shaken, found in its accelerometer samples.
    case shake
    /// The person with a device has fallen, found in its accelerometer samples.
    case fall
    /// A device is held in one of these orientations for at least a time in µs.
    case orientation(Set<DeviceOrientation>, lasting: Int64)
    /// The person with a device begins one of these activities.
    case activity(Set<MotionActivity.Kind>)
    /// A device has counted this number of steps in a day of a time zone.
    case steps(Double, zone: TimeZoneRules)
    /// A device enters, leaves or stays at a place.
    case place(PlaceCondition)
    /// A device, or one stream of it, sends nothing for a time in µs.
    case silence(stream: SensorStream?, lasting: Int64)
    /// Delivery or machine is not healthy.
    case health(HealthCondition)

    /// The stream whose samples are needed, or nil if there is none or it is any stream.
    public var stream: SensorStream? {
        switch self {
        case .state, .health: nil
        case .value(let condition): condition.stream
        case .shake, .fall: .accelerometer
        case .orientation: .orientation
        case .activity: .activity
        case .steps: .steps
        case .place: .location
        case .silence(let stream, _): stream
        }
    }
}

/// A limit of a value, with hysteresis and minimum duration.
public struct ValueCondition: Sendable, Hashable {
    /// A figure of the values in a time span.
    public enum Aggregate: String, Sendable, Hashable, CaseIterable {
        case mean, min, max, sum, count
    }

    /// The stream.
    public var stream: SensorStream
    /// The index of the column.
    public var column: Int
    /// The figure over a span in µs, or nil for single values.
    public var aggregate: Aggregate?
    /// The span of the aggregate, in µs.
    public var window: Int64 = 0
    /// Whether values above the limit count; otherwise those below.
    public var isAbove: Bool
    /// The limit at which the condition starts.
    public var limit: Double
    /// The limit at which it ends.
    public var clear: Double
    /// The time for which it must hold, in µs.
    public var lasting: Int64 = 0

    /// Creates a limit of single values.
    public init(stream: SensorStream, column: Int, isAbove: Bool, limit: Double, clear: Double? = nil) {
        self.stream = stream
        self.column = column
        self.isAbove = isAbove
        self.limit = limit
        self.clear = clear ?? limit
    }

    func starts(_ value: Double) -> Bool { isAbove ? value > limit : value < limit }
    /// Whether a value is back within the limit.
    func ends(_ value: Double) -> Bool { isAbove ? value <= clear : value >= clear }
}

/// A place, and what is watched about it.
public struct PlaceCondition: Sendable, Hashable {
    /// What is watched.
    public enum Kind: Sendable, Hashable {
        /// From outside to inside.
        case enter
        /// From inside to outside.
        case leave
        /// Inside for a time in µs.
        case dwell(Int64)
    }

    /// The name of the place.
    public var name: String
    /// The area.
    public var area: Area
    /// What is watched.
    public var kind: Kind
    /// Fixes with a horizontal accuracy of more than this, in m, are ignored.
    public var accuracy = 100.0
    /// The distance outside the border, in m, up to which a device that was inside counts as inside.
    public var hysteresis = 20.0

    /// Creates a condition with the default accuracy and hysteresis.
    public init(name: String, area: Area, kind: Kind) {
        self.name = name
        self.area = area
        self.kind = kind
    }

    /// Returns whether a device is inside after a fix, or nil if the fix does not decide it.
    /// - Parameters:
    ///   - wasInside: the state before, or nil if it is unknown.
    ///   - accuracy: the horizontal accuracy in m, or NaN if it is unknown.
    func isInside(_ position: Coordinate, accuracy: Double, after wasInside: Bool?) -> Bool? {
        guard position.isValid, !(accuracy > self.accuracy) else { return nil }
        let distance = area.signedDistance(to: position)
        if distance <= 0 { return true }
        // The border of a device that was inside is further out, by the hysteresis or by what the fix may be wrong.
        let margin = max(hysteresis, accuracy.isNaN ? 0 : accuracy)
        return distance > margin ? false : wasInside
    }
}

/// A condition of delivery or of a machine.
public enum HealthCondition: Sendable, Hashable {
    /// More than this number of batches of a device are missing.
    case gaps(Int64)
    /// A device's agent dropped more than this number of batches.
    case drops(Int64)
    /// Less than this share of the store's file system is free, 0 to 1.
    case disk(Double)
    /// A device's live samples differ from the collector's clock by more than this time in µs.
    case clock(Int64)
}

extension Condition {
    /// The condition as text, which is the same in every process. Sets have no order of their own.
    var text: String {
        switch self {
        case .state(let states, let lasting): "state \(states.map(\.rawValue).sorted()) \(lasting)"
        case .orientation(let wanted, let lasting): "orientation \(wanted.map { "\($0)" }.sorted()) \(lasting)"
        case .activity(let wanted): "activity \(wanted.map { "\($0)" }.sorted())"
        default: "\(self)"
        }
    }
}

/// An area on the earth.
public enum Area: Sendable, Hashable {
    /// A circle with its radius in m.
    case circle(Coordinate, radius: Double)
    /// A polygon of at least three corners, in order. Its edges are straight on a map of its surroundings.
    case polygon([Coordinate])

    /// The latitudes and longitudes of its centre, or of its corners, in degrees.
    package var points: [(latitude: Double, longitude: Double)] {
        switch self {
        case .circle(let centre, _): [(centre.latitude, centre.longitude)]
        case .polygon(let corners): corners.map { ($0.latitude, $0.longitude) }
        }
    }

    /// The radius of a circle in m; nil for a polygon.
    package var radius: Double? {
        if case .circle(_, let radius) = self { radius } else { nil }
    }

    /// Returns the distance from the border in m: negative inside, positive outside.
    public func signedDistance(to position: Coordinate) -> Double {
        switch self {
        case .circle(let centre, let radius): return centre.distance(to: position) - radius
        case .polygon(let corners):
            // A plane around the position: exact enough for areas of some 100 km.
            let points = zip(corners, unwrappedLongitudes(of: corners, near: position)).map { corner, longitude in
                SIMD2(
                    (longitude - position.longitude) * metresPerDegree * cos(position.latitude * .pi / 180),
                    (corner.latitude - position.latitude) * metresPerDegree)
            }
            return polygonDistance(points)
        }
    }
}

/// Returns the longitudes of corners without the jump at the date line, on the side of it that is nearer to a position.
private func unwrappedLongitudes(of corners: [Coordinate], near position: Coordinate) -> [Double] {
    var longitudes: [Double] = []
    for corner in corners {
        // Each edge takes the short way around the earth.
        let turns = longitudes.last.map { (($0 - corner.longitude) / 360).rounded() } ?? 0
        longitudes.append(corner.longitude + 360 * turns)
    }
    guard let west = longitudes.min(), let east = longitudes.max() else { return [] }
    let turns = ((position.longitude - (west + east) / 2) / 360).rounded()
    return longitudes.map { $0 + 360 * turns }
}

/// The length of a degree of latitude in m, on a sphere with the mean radius of the earth.
private let metresPerDegree = 6_371_008.8 * Double.pi / 180

/// Returns the signed distance of the origin from a polygon's border.
private func polygonDistance(_ points: [SIMD2<Double>]) -> Double {
    var isInside = false
    var nearest = Double.infinity
    for (index, end) in points.enumerated() {
        let start = points[(index + points.count - 1) % points.count]
        // A ray to the east crosses the edge.
        if (start.y > 0) != (end.y > 0) {
            let x = start.x + (0 - start.y) / (end.y - start.y) * (end.x - start.x)
            if x > 0 { isInside.toggle() }
        }
        let edge = end - start
        let length = (edge * edge).sum()
        let share = length > 0 ? min(1, max(0, -(start * edge).sum() / length)) : 0
        let foot = start + share * edge
        nearest = min(nearest, (foot * foot).sum().squareRoot())
    }
    return isInside ? -nearest : nearest
}
