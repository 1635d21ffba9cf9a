public import LockstepModel

/// One position of a device, and what is known of it.
public struct LocationFix: Sendable, Hashable {
    public var coordinate: Coordinate
    /// m above mean sea level.
    public var altitude: Double?
    /// m; within it the place is, by the receiver's word (gpsd: in 95 % of cases).
    public var horizontalAccuracy: Double?
    /// m.
    public var verticalAccuracy: Double?
    /// m/s over ground.
    public var speed: Double?
    /// Degrees clockwise from true north.
    public var course: Double?
    /// On the device's time line: when the fix arrived.
    public var time: Timestamp
    /// The receiver's own time of the fix.
    public var fixTime: Timestamp?
    /// Whether it was old when it was judged (``LocationFilter``): a place from memory, not from now.
    public var isStale = false

    public init(coordinate: Coordinate, time: Timestamp) {
        self.coordinate = coordinate
        self.time = time
    }

    /// How old the position is at `now`, in s: since the receiver's time where it is known, else since it arrived.
    public func age(at now: Timestamp) -> Double { Double(now - (fixTime ?? time)) / 1e6 }
}

extension LocationFix {
    /// The fix that a row of the `location` stream tells; nil for a row without position.
    /// - Parameter values: in the order of the stream's columns.
    /// - Precondition: `values` has a value for each column.
    public init?(time: Timestamp, values: [Double]) {
        precondition(values.count == SensorStream.location.columns.count, "a row of location has nine values")
        let known = values.map { $0.isFinite ? $0 : nil }
        guard let latitude = known[0], let longitude = known[1] else { return nil }
        self.init(coordinate: Coordinate(latitude: latitude, longitude: longitude), time: time)
        altitude = known[2]
        horizontalAccuracy = known[3]
        verticalAccuracy = known[4]
        speed = known[5]
        course = known[6]
        // Beyond 2^53 µs it would not be whole, and differences could overflow.
        fixTime = known[8].flatMap { abs($0) < 0x1p53 ? Timestamp(microseconds: Int64($0)) : nil }
    }

    /// The values of its row in the `location` stream.
    public var values: [Double] {
        let fix: Double = altitude == nil ? 2 : 3
        let at = fixTime.map { Double($0.microseconds) }
        let optional = [altitude, horizontalAccuracy, verticalAccuracy, speed, course, fix, at]
        return [coordinate.latitude, coordinate.longitude] + optional.map { $0 ?? .nan }
    }
}
