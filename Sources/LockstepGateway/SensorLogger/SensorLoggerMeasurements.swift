/// The measurements of one Sensor Logger message, as readings in Lockstep's units and axes.
///
/// Lockstep's acceleration includes gravity and is (0, 0, −1) g at rest, face up. It comes from the first of these that
/// the message has: `totalacceleration`, the sum of `accelerometer` (without gravity) and `gravity` of the same time,
/// `accelerometeruncalibrated`.
struct SensorLoggerMeasurements {
    /// Standard gravity in m/s², as the app assumes it.
    static let gravity = 9.80665

    private struct Vector {
        let time: Int64
        let x: Double
        let y: Double
        let z: Double
    }

    private let axes: SensorLoggerSettings.Axes
    private var vectors: [String: [Vector]] = [:]
    private var others: [Reading] = []
    /// The time of the newest measurement in µs since 1970.
    private(set) var newest: Int64?

    init(axes: SensorLoggerSettings.Axes) { self.axes = axes }

    /// Adds an element of `payload`. Unknown sensors are ignored.
    /// - Throws: ``Refusal`` if the time or a value is missing.
    mutating func add(_ entry: JSONValue) throws(Refusal) {
        guard let name = entry["name"]?.string else { throw Refusal(.malformed, "a measurement has no 'name'") }
        let sensor = name.lowercased()
        guard Self.vectorSensors.contains(sensor) || Self.otherSensors.contains(sensor) else { return }
        guard let nanoseconds = entry["time"]?.integer else {
            throw Refusal(.malformed, "'time' of \(sensor) is not a whole number of nanoseconds")
        }
        let time = ForeignTime.microseconds(nanoseconds: nanoseconds)
        let values = entry["values"] ?? entry
        if Self.vectorSensors.contains(sensor) {
            guard let x = values["x"]?.number, let y = values["y"]?.number, let z = values["z"]?.number else {
                throw Refusal(.malformed, "\(sensor) has no x, y and z")
            }
            vectors[sensor, default: []].append(Vector(time: time, x: x, y: y, z: z))
        } else {
            others += try Self.readings(of: sensor, values, at: time)
        }
        newest = max(newest ?? time, time)
    }

    private static let vectorSensors: Set<String> = [
        "accelerometer", "gravity", "totalacceleration", "accelerometeruncalibrated", "gyroscope",
        "gyroscopeuncalibrated", "magnetometer", "magnetometeruncalibrated",
    ]
    private static let otherSensors: Set<String> = ["location", "barometer", "battery", "compass", "pedometer"]

    /// Returns all readings.
    func readings() -> [Reading] {
        accelerations
            + rename(vectors["gyroscope"] ?? vectors["gyroscopeuncalibrated"], "motion/gyroscope", factor: 1)
            + rename(vectors["magnetometeruncalibrated"] ?? vectors["magnetometer"], "motion/magnetometer", factor: 1)
            + others
    }

    /// Converts m/s² to g, and the axes to Lockstep's, which are those of iOS.
    private var factor: Double { (axes == .android ? -1 : 1) / Self.gravity }

    private var accelerations: [Reading] {
        let stream = "motion/accelerometer"
        if let total = vectors["totalacceleration"] { return rename(total, stream, factor: factor) }
        if let user = vectors["accelerometer"], let gravity = vectors["gravity"] {
            var gravityAt: [Int64: Vector] = [:]
            for vector in gravity { gravityAt[vector.time] = vector }
            let sums = user.compactMap { vector in
                gravityAt[vector.time].map {
                    Vector(time: vector.time, x: vector.x + $0.x, y: vector.y + $0.y, z: vector.z + $0.z)
                }
            }
            if !sums.isEmpty { return rename(sums, stream, factor: factor) }
        }
        // Without standardised units, iOS measures this in g.
        return rename(
            vectors["accelerometeruncalibrated"], stream, factor: axes == .android ? factor : 1)
    }

    private func rename(_ vectors: [Vector]?, _ stream: String, factor: Double) -> [Reading] {
        (vectors ?? []).map { vector in
            var reading = Reading(stream, at: vector.time)
            // The sum is not −0.
            reading.set("x", vector.x * factor + 0)
            reading.set("y", vector.y * factor + 0)
            reading.set("z", vector.z * factor + 0)
            return reading
        }
    }

    private static func readings(of sensor: String, _ values: JSONValue, at time: Int64) throws(Refusal) -> [Reading] {
        func notNegative(_ name: String) -> Double? { values[name]?.number.flatMap { $0 >= 0 ? $0 : nil } }
        switch sensor {
        case "location":
            guard let lat = values["latitude"]?.number, let lon = values["longitude"]?.number,
                (-90...90).contains(lat), (-180...180).contains(lon)
            else { throw Refusal(.malformed, "latitude or longitude of the location is missing or out of range") }
            var reading = Reading("location", at: time)
            reading.set("lat", lat)
            reading.set("lon", lon)
            // The other altitude is above the ellipsoid.
            reading.set("alt", values["altitudeAboveMeanSeaLevel"]?.number)
            reading.set("hacc", notNegative("horizontalAccuracy"))
            reading.set("vacc", notNegative("verticalAccuracy"))
            reading.set("speed", notNegative("speed"))
            reading.set("course", notNegative("bearing").flatMap { $0 <= 360 ? $0 : nil })
            return [reading]
        case "barometer":
            var pressure = Reading("pressure", at: time)
            pressure.set("pressure", values["pressure"]?.number)
            var altitude = Reading("altitude", at: time)
            altitude.set("altitude", values["relativeAltitude"]?.number)
            return [pressure, altitude].filter { !$0.values.isEmpty }
        case "battery":
            var reading = Reading("battery", at: time)
            reading.set("level", values["batteryLevel"]?.number.flatMap { (0...1).contains($0) ? $0 : nil })
            let states = ["unplugged": "discharging", "charging": "charging", "full": "full"]
            reading.set("state", word: values["batteryState"]?.string.flatMap { states[$0.lowercased()] } ?? "unknown")
            return [reading]
        case "compass":
            guard let bearing = notNegative("magneticBearing"), bearing <= 360 else { return [] }
            var reading = Reading("heading", at: time)
            reading.set("magnetic", bearing)
            return [reading]
        case "pedometer":
            guard let steps = values["steps"]?.integer, steps >= 0 else { return [] }
            // The count since the start of the recording, whereas 'steps' has counts that can be added.
            var reading = Reading("x/sensorlogger/steps", at: time)
            reading.set("total", Double(steps))
            return [reading]
        default: return []
        }
    }
}
