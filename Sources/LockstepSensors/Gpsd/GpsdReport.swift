internal import FoundationEssentials
package import LockstepModel

/// One line that gpsd sends, of the classes that matter here (`gpsd_json(5)`).
package enum GpsdReport: Sendable, Hashable {
    case version(release: String)
    /// The receivers that gpsd has, by their paths.
    case devices([String])
    case position(PositionReport)
    /// Satellites that are seen and used, where the report counts them.
    case sky(seen: Int?, used: Int?)
    case error(String)
    /// A class that is of no use here.
    case other(String)

    /// Reads one line.
    /// - Throws: `DecodingError` where the line is not a report, or a report of a known class is not as it should be.
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

/// What gpsd calls a time-position-velocity report. Only what it knows is there.
package struct PositionReport: Sendable, Hashable {
    /// The receiver's time.
    package var time: Timestamp?
    /// 0 and 1: no fix; 2: without altitude; 3: with it.
    package var mode = 0
    /// Degrees north and east, WGS 84.
    package var latitude: Double?
    package var longitude: Double?
    /// m above mean sea level.
    package var altitude: Double?
    /// gpsd's estimates of the error, in m: horizontal, eastward, northward, vertical; 95 % are within.
    package var horizontalError: Double?
    package var eastError: Double?
    package var northError: Double?
    package var verticalError: Double?
    /// m/s over ground.
    package var speed: Double?
    /// Degrees clockwise from true north.
    package var course: Double?

    package init(time: Timestamp? = nil, mode: Int = 0) {
        self.time = time
        self.mode = mode
    }

    /// Whether it says where the receiver is.
    package var isFix: Bool { mode >= 2 && latitude != nil && longitude != nil }

    /// Takes from `other`, of the same time, what is not known here.
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
        case time, mode, lat, lon, alt, altMSL, eph, epx, epy, epv, speed, track
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func number(_ key: CodingKeys) throws -> Double? { try values.decodeIfPresent(Double.self, forKey: key) }
        if let text = try values.decodeIfPresent(String.self, forKey: .time) {
            guard let time = Timestamp(text) else {
                throw DecodingError.dataCorruptedError(
                    forKey: .time, in: values, debugDescription: "not a time: \(text)")
            }
            self.time = time
        }
        mode = try values.decodeIfPresent(Int.self, forKey: .mode) ?? 0
        latitude = try number(.lat)
        longitude = try number(.lon)
        // gpsd before 3.20 has only `alt`, whose reference depends on the receiver.
        altitude = try number(.altMSL) ?? number(.alt)
        horizontalError = try number(.eph)
        eastError = try number(.epx)
        northError = try number(.epy)
        verticalError = try number(.epv)
        speed = try number(.speed)
        course = try number(.track)
    }
}
