import LockstepModel

extension CollectorHealth {
    /// A position in degrees.
    public struct Position: Sendable, Hashable {
        /// The latitude, −90 to 90.
        public var latitude: Double
        /// The longitude, −180 to 180.
        public var longitude: Double

        /// Creates a position.
        public init(latitude: Double, longitude: Double) {
            self.latitude = latitude
            self.longitude = longitude
        }
    }

    /// The area of a place that rules watch. As in a file of rules, the JSON is `{"center":[48.1,11.5],"radius":100}` or
    /// `{"polygon":[[48.1,11.5],…]}`.
    public enum Place: Sendable, Hashable {
        /// A circle with its radius in m.
        case circle(Position, radius: Double)
        /// A polygon of at least three corners, in order.
        case polygon([Position])

        /// Appends the members of an object of places, sorted by name.
        package static func write(_ places: [String: Place], to object: inout JSONObjectWriter) {
            for (name, place) in places.sorted(by: { $0.key < $1.key }) {
                object.member(name) { object in
                    switch place {
                    case .circle(let center, let radius):
                        object.member("center", center.degrees) { $0.raw("\($1)") }
                        object.member("radius", radius)
                    case .polygon(let corners):
                        object.member("polygon", corners) { $0.raw("[\($1.latitude),\($1.longitude)]") }
                    }
                }
            }
        }
    }
}

extension CollectorHealth.Position: JSONReadable {
    fileprivate var degrees: [Double] { [latitude, longitude] }

    static func read(
        _ value: JSONValue, at path: @autoclosure () -> String
    ) throws(PayloadError) -> CollectorHealth.Position {
        let degrees = try [Double].read(value, at: path())
        guard degrees.count == 2, abs(degrees[0]) <= 90, abs(degrees[1]) <= 180 else {
            throw PayloadError("'\(path())' is not a latitude and a longitude")
        }
        return CollectorHealth.Position(latitude: degrees[0], longitude: degrees[1])
    }
}

extension CollectorHealth.Place: JSONReadable {
    static func read(
        _ value: JSONValue, at path: @autoclosure () -> String
    ) throws(PayloadError) -> CollectorHealth.Place {
        let object = try JSONMembers.read(value, at: path())
        if let center: CollectorHealth.Position = try object.optional("center") {
            let radius: Double = try object.required("radius")
            guard radius > 0 else { throw PayloadError("'\(path()).radius' is not above 0") }
            return .circle(center, radius: radius)
        }
        let corners: [CollectorHealth.Position] = try object.required("polygon")
        guard corners.count >= 3 else { throw PayloadError("'\(path()).polygon' has less than three corners") }
        return .polygon(corners)
    }
}
