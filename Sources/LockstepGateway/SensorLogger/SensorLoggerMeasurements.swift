import LockstepModel

/// The measurements of one Sensor Logger message, as readings in Lockstep's units and axes.
///
/// Lockstep's acceleration includes gravity and is (0, 0, −1) g at rest, face up. It comes from the first of these that
/// the message has: `totalacceleration`, the sum of `accelerometer` (without gravity) and `gravity` of the nearest time,
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
    /// The values that were left out because they cannot be read.
    private(set) var omissions: [String] = []
    /// The parts of accelerations that wait for others of a later message, after the call of ``readings()``.
    private(set) var parts: [AccelerationPart] = []
    /// The time of the newest measurement in µs since 1970.
    private(set) var newest: Int64?

    init(axes: SensorLoggerSettings.Axes) { self.axes = axes }

    /// Adds an element of `payload`. Unknown sensors are ignored.
    /// - Throws: ``Refusal`` if the time or a value is missing.
    mutating func add(_ entry: JSONValue) throws(Refusal) {
        guard let name = entry["name"]?.string else { throw Refusal(.malformed, "a measurement has no 'name'") }
        let sensor = name.lowercased()
        guard Self.vectorSensors.contains(sensor) || Self.otherSensors.contains(sensor) else { return }
        let time: Int64
        do { time = try TimeUnit.nanoseconds.microseconds(of: entry["time"]) } catch {
            throw Refusal(.malformed, error.text("'time' of \(sensor)"))
        }
        let values = entry["values"] ?? entry
        if Self.vectorSensors.contains(sensor) {
            guard let x = values["x"]?.readableNumber, let y = values["y"]?.readableNumber,
                let z = values["z"]?.readableNumber
            else { throw Refusal(.malformed, "\(sensor) has no x, y and z") }
            vectors[sensor, default: []].append(Vector(time: time, x: x, y: y, z: z))
        } else {
            var fields = FieldReader(values, "the \(sensor)")
            defer { omissions += fields.omissions }
            for reading in try Self.readings(of: sensor, &fields, at: time) {
                // Of several counts of one time, the last one is the total.
                let index = others.lastIndex { $0.stream == reading.stream && $0.time == reading.time }
                if let index, sensor == "pedometer" { others[index] = reading } else { others.append(reading) }
            }
        }
        newest = max(newest ?? time, time)
    }

    private static let vectorSensors: Set<String> = [
        "accelerometer", "gravity", "totalacceleration", "accelerometeruncalibrated", "gyroscope",
        "gyroscopeuncalibrated", "magnetometer", "magnetometeruncalibrated",
    ]
    private static let otherSensors: Set<String> = ["location", "barometer", "battery", "compass", "pedometer"]

    mutating func readings() -> [Reading] {
        accelerations()
            + rename(vectors["gyroscope"] ?? vectors["gyroscopeuncalibrated"], "motion/gyroscope", factor: 1)
            + rename(vectors["magnetometeruncalibrated"] ?? vectors["magnetometer"], "motion/magnetometer", factor: 1)
            + others
    }

    /// Converts m/s² to g, and the axes to Lockstep's, which are those of iOS.
    private var factor: Double { (axes == .android ? -1 : 1) / Self.gravity }

    private mutating func accelerations() -> [Reading] {
        let stream = "motion/accelerometer"
        if let total = vectors["totalacceleration"] { return rename(total, stream, factor: factor) }
        let uncalibrated = vectors["accelerometeruncalibrated"]
        let halves = parts(of: "accelerometer") + parts(of: "gravity")
        if uncalibrated == nil || (vectors["accelerometer"] != nil && vectors["gravity"] != nil) {
            var pairs = AccelerationPairs()
            let sums = pairs.add(halves, at: 0)
            if !sums.isEmpty || uncalibrated == nil {
                parts = pairs.parts
                return sums
            }
        }
        // Without standardised units, iOS measures this in g.
        return rename(uncalibrated, stream, factor: axes == .android ? factor : 1)
    }

    private func parts(of sensor: String) -> [AccelerationPart] {
        (vectors[sensor] ?? []).map {
            AccelerationPart(
                time: $0.time, x: $0.x * factor, y: $0.y * factor, z: $0.z * factor, isGravity: sensor == "gravity")
        }
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

    private static func readings(
        of sensor: String, _ values: inout FieldReader, at time: Int64
    ) throws(Refusal) -> [Reading] {
        switch sensor {
        case "location":
            guard let lat = values.number("latitude", in: -90...90),
                let lon = values.number("longitude", in: -180...180)
            else { throw Refusal(.malformed, "latitude or longitude of the location is missing or out of range") }
            var reading = Reading("location", at: time)
            reading.set("lat", lat)
            reading.set("lon", lon)
            // The other altitude is above the ellipsoid.
            reading.set("alt", values.number("altitudeAboveMeanSeaLevel"))
            reading.set("hacc", values.notNegative("horizontalAccuracy"))
            reading.set("vacc", values.notNegative("verticalAccuracy"))
            reading.set("speed", values.notNegative("speed"))
            reading.set("course", values.notNegative("bearing", atMost: 360))
            return [reading]
        case "barometer":
            var pressure = Reading("pressure", at: time)
            pressure.set("pressure", values.number("pressure"))
            var altitude = Reading("altitude", at: time)
            altitude.set("altitude", values.number("relativeAltitude"))
            return [pressure, altitude].filter { !$0.values.isEmpty }
        case "battery":
            var reading = Reading("battery", at: time)
            reading.set("level", values.notNegative("batteryLevel", atMost: 1))
            let states = ["unplugged": "discharging", "charging": "charging", "full": "full", "unknown": "unknown"]
            reading.set("state", word: values.word("batteryState", of: states) ?? "unknown")
            return [reading]
        case "compass":
            guard let bearing = values.notNegative("magneticBearing", atMost: 360) else { return [] }
            var reading = Reading("heading", at: time)
            reading.set("magnetic", bearing)
            return [reading]
        case "pedometer":
            guard let steps = values.notNegative("steps") else { return [] }
            // The count since the start of the recording, whereas 'steps' has counts that can be added.
            var reading = Reading("x/sensorlogger/steps", at: time)
            reading.set("total", steps)
            return [reading]
        default: return []
        }
    }
}
