internal import FoundationEssentials
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

    /// Parses one line.
    /// - Throws: `DecodingError` if the line is not a report, or a report of a known class is malformed.
    package init(line: some Sequence<UInt8>) throws {
        let data = Data(line)
        let decoder = JSONDecoder()
        let name = try decoder.decode(ClassName.self, from: data).class
        switch name {
        case "VERSION": self = .version(release: try decoder.decode(Version.self, from: data).release)
        case "DEVICES": self = .devices(try decoder.decode(Devices.self, from: data).devices.map { $0.path ?? "?" })
        case "TPV": self = .position(try decoder.decode(PositionReport.self, from: data))
        case "SKY":
            let sky = try decoder.decode(Sky.self, from: data)
            self = .sky(seen: sky.nSat, used: sky.uSat)
        case "ERROR": self = .error(try decoder.decode(Failure.self, from: data).message)
        default: self = .other(name)
        }
    }

    /// Returns why ``init(line:)`` refused a line, for users.
    static func reason(_ error: any Error) -> String {
        if case .dataCorrupted(let context)? = error as? DecodingError, !context.codingPath.isEmpty {
            return context.debugDescription
        }
        return "not a report of gpsd"
    }

    private struct ClassName: Decodable { let `class`: String }
    private struct Version: Decodable { let release: String }
    private struct Devices: Decodable { let devices: [Device] }
    private struct Device: Decodable { let path: String? }
    private struct Sky: Decodable {
        let nSat: Int?
        let uSat: Int?
    }
    private struct Failure: Decodable { let message: String }
}

/// A time-position-velocity report of gpsd. Unknown values are nil.
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

extension PositionReport: Decodable {
    private enum CodingKeys: String, CodingKey {
        case device, time, mode, lat, lon, alt, altMSL, eph, epx, epy, epv, speed, track
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func number(_ key: CodingKeys, in range: PartialRangeFrom<Double>? = nil) throws -> Double? {
            let value = try values.decodeIfPresent(Double.self, forKey: key)
            return value.flatMap { range?.contains($0) == false ? nil : $0 }
        }
        device = try values.decodeIfPresent(String.self, forKey: .device)
        if let text = try values.decodeIfPresent(String.self, forKey: .time) {
            guard let time = Timestamp(text) else { throw Self.refusal(.time, "'\(text)' is not a time", values) }
            self.time = time
        }
        mode = try values.decodeIfPresent(Int.self, forKey: .mode) ?? 0
        latitude = try number(.lat)
        longitude = try number(.lon)
        if let latitude, abs(latitude) > 90 { throw Self.refusal(.lat, "\(latitude) is not a latitude", values) }
        if let longitude, abs(longitude) > 180 { throw Self.refusal(.lon, "\(longitude) is not a longitude", values) }
        // gpsd before 3.20 provides only `alt`, whose reference surface depends on the receiver.
        altitude = try number(.altMSL) ?? number(.alt)
        // Receivers state a negative value for an unknown error or speed.
        horizontalError = try number(.eph, in: 0...)
        eastError = try number(.epx, in: 0...)
        northError = try number(.epy, in: 0...)
        verticalError = try number(.epv, in: 0...)
        speed = try number(.speed, in: 0...)
        course = try number(.track, in: 0...).flatMap { $0 > 360 ? nil : $0 == 360 ? 0 : $0 }
    }

    /// The error for a report with an impossible value.
    private static func refusal(
        _ key: CodingKeys, _ reason: String, _ values: KeyedDecodingContainer<CodingKeys>
    ) -> DecodingError {
        .dataCorruptedError(forKey: key, in: values, debugDescription: reason)
    }
}
