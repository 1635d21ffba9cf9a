public import LockstepModel

/// A position fix of a device.
public struct LocationFix: Sendable, Hashable {
    /// The position.
    public var coordinate: Coordinate
    /// The altitude above mean sea level, in m.
    public var altitude: Double?
    /// The horizontal accuracy in m, as the receiver reports it (gpsd: 95 % confidence).
    public var horizontalAccuracy: Double?
    /// The vertical accuracy, in m.
    public var verticalAccuracy: Double?
    /// The speed over ground, in m/s.
    public var speed: Double?
    /// The course over ground, in degrees clockwise from true north.
    public var course: Double?
    /// The time of arrival on the device's time line.
    public var time: Timestamp
    /// The time of the fix by the receiver's own clock; nil if it is unknown.
    public var fixTime: Timestamp?
    /// Whether the fix was stale when a ``LocationFilter`` processed it.
    public var isStale = false

    /// Creates a fix with a position and a time of arrival. All other values are unknown.
    public init(coordinate: Coordinate, time: Timestamp) {
        self.coordinate = coordinate
        self.time = time
    }

    /// Returns the age at `now` in s, measured from ``fixTime`` if known, otherwise from ``time``.
    public func age(at now: Timestamp) -> Double { Double(now - (fixTime ?? time)) / 1e6 }
}

extension LocationFix {
    /// Creates a fix from a row of the `location` stream; nil for a row without position.
    ///
    /// - Parameters:
    ///   - time: the time of the row.
    ///   - values: the row, in the order of the stream's columns.
    /// - Precondition: `values` has a value for each column.
    public init?(time: Timestamp, values: [Double]) {
        precondition(
            values.count == SensorStream.location.columns.count, "a row of the location stream has nine values")
        let known = values.map { $0.isFinite ? $0 : nil }
        guard let latitude = known[0], let longitude = known[1] else { return nil }
        self.init(coordinate: Coordinate(latitude: latitude, longitude: longitude), time: time)
        altitude = known[2]
        horizontalAccuracy = known[3]
        verticalAccuracy = known[4]
        speed = known[5]
        course = known[6]
        // Beyond 2^53 a Double is not exact, and differences of times could overflow.
        fixTime = known[8].flatMap { abs($0) < 0x1p53 ? Timestamp(microseconds: Int64($0)) : nil }
    }

    /// The values of the fix's row in the `location` stream.
    public var values: [Double] {
        let fix: Double = altitude == nil ? 2 : 3
        let at = fixTime.map { Double($0.microseconds) }
        let optional = [altitude, horizontalAccuracy, verticalAccuracy, speed, course, fix, at]
        return [coordinate.latitude, coordinate.longitude] + optional.map { $0 ?? .nan }
    }
}
