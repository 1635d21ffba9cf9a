package import LockstepModel

/// A report from gpsd: one line of JSON (`gpsd_json(5)`).
package enum GpsdReport: Sendable, Hashable {
    case version(release: String)
    /// The paths of the receivers.
    case devices([String])
    case position(PositionReport)
    /// The numbers of satellites seen and used, if the report has them.
    case sky(seen: Int?, used: Int?)
    case error(String)
    /// A report of a class that is not used, with the name of the class.
    case other(String)

    /// - Throws: `JSONError` if the line is not a report, or a report of a known class is malformed.
    package init(line: some Sequence<UInt8>) throws(JSONError) {
        var options = JSONParser.Options()
        options.acceptsNotFinite = true
        guard let report = try? JSONParser.parse(Array(line), options).value else { throw .notReport }
        switch try report.required("class", \.string) {
        case "VERSION": self = .version(release: try report.required("release", \.string))
        case "DEVICES":
            self = .devices(
                try report.required("devices", \.array).map { device throws(JSONError) in
                    try device.optional("path", \.string) ?? "?"
                })
        case "TPV": self = .position(try PositionReport(report))
        case "SKY":
            self = .sky(
                seen: try report.optional("nSat", \.integer).flatMap(Int.init(exactly:)),
                used: try report.optional("uSat", \.integer).flatMap(Int.init(exactly:)))
        case "ERROR": self = .error(try report.required("message", \.string))
        case let name: self = .other(name)
        }
    }
}

extension JSONError {
    fileprivate static let notReport = JSONError("not a report of gpsd")
}

extension JSONValue {
    fileprivate func required<Value>(_ name: String, _ type: (JSONValue) -> Value?) throws(JSONError) -> Value {
        guard let value = try optional(name, type) else { throw .notReport }
        return value
    }

    /// Returns a member, or nil if it is missing or null.
    fileprivate func optional<Value>(_ name: String, _ type: (JSONValue) -> Value?) throws(JSONError) -> Value? {
        guard case .object(let members) = self else { throw .notReport }
        guard let member = members[name], member != .null else { return nil }
        guard let value = type(member) else { throw .notReport }
        return value
    }
}

/// A time-position-velocity report of gpsd. Unknown values are nil, also those that cannot be read.
package struct PositionReport: Sendable, Hashable {
    /// The path of the receiver, such as `/dev/ttyUSB0`; nil if gpsd does not state it.
    package var device: String?
    /// The receiver's time of the fix.
    package var time: Timestamp?
    /// The kind of fix. 0 and 1: no fix; 2: without altitude; 3: with altitude.
    package var mode = 0
    /// The latitude in degrees, WGS 84, north positive.
    package var latitude: Double?
    /// The longitude in degrees, WGS 84, east positive.
    package var longitude: Double?
    /// The altitude in m above mean sea level.
    package var altitude: Double?
    /// The estimated horizontal error in m (95 % confidence).
    package var horizontalError: Double?
    /// The estimated error eastward in m (95 % confidence).
    package var eastError: Double?
    /// The estimated error northward in m (95 % confidence).
    package var northError: Double?
    /// The estimated vertical error in m (95 % confidence).
    package var verticalError: Double?
    /// The speed over ground in m/s.
    package var speed: Double?
    /// The course in degrees clockwise from true north.
    package var course: Double?
    /// The names of the values that could not be read.
    package var unreadable: [String] = []

    package init(time: Timestamp? = nil, mode: Int = 0) {
        self.time = time
        self.mode = mode
    }

    /// Whether the report has a position.
    package var isFix: Bool { mode >= 2 && latitude != nil && longitude != nil }

    /// Fills unknown values with those of another report with the same time.
    package mutating func fill(from other: PositionReport) {
        mode = max(mode, other.mode)
        if latitude == nil || longitude == nil { (latitude, longitude) = (other.latitude, other.longitude) }
        altitude = altitude ?? other.altitude
        horizontalError = horizontalError ?? other.horizontalError
        eastError = eastError ?? other.eastError
        northError = northError ?? other.northError
        verticalError = verticalError ?? other.verticalError
        speed = speed ?? other.speed
        course = course ?? other.course
    }
}

extension PositionReport {
    fileprivate init(_ report: JSONValue) throws(JSONError) {
        var unreadable: [String] = []
        func value<Value>(_ name: String, _ read: (JSONValue) -> Value?) -> Value? {
            guard let member = report[name], member != .null else { return nil }
            guard let value = read(member) else {
                unreadable.append(name)
                return nil
            }
            return value
        }
        func notNegative(_ name: String) -> Double? { value(name, \.number).flatMap { $0 < 0 ? nil : $0 } }
        device = try report.optional("device", \.string)
        // Differences of larger times could overflow.
        time = value("time") {
            $0.string.flatMap { Timestamp($0) }.flatMap { $0.microseconds.magnitude < 1 << 53 ? $0 : nil }
        }
        mode = try report.optional("mode", \.integer).flatMap(Int.init(exactly:)) ?? 0
        latitude = try report.optional("lat", \.number)
        longitude = try report.optional("lon", \.number)
        if let latitude, abs(latitude) > 90 { throw JSONError("\(latitude) is not a latitude") }
        if let longitude, abs(longitude) > 180 { throw JSONError("\(longitude) is not a longitude") }
        // gpsd before 3.20 provides only `alt`, whose reference surface depends on the receiver.
        altitude = value("altMSL", \.number) ?? value("alt", \.number)
        // Receivers state a negative value for an unknown error or speed.
        horizontalError = notNegative("eph")
        eastError = notNegative("epx")
        northError = notNegative("epy")
        verticalError = notNegative("epv")
        speed = notNegative("speed")
        course = notNegative("track").flatMap { $0 > 360 ? nil : $0 == 360 ? 0 : $0 }
        self.unreadable = unreadable
    }
}
