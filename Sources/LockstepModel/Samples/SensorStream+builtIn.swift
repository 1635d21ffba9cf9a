// The built-in streams. To add one, add a constant and list it in `builtIn`. A column has a range only if no sensor can
// give a value outside of it.
extension SensorStream {
    /// Acceleration in g along the device axes, including gravity.
    public static let accelerometer = SensorStream(
        name: "motion/accelerometer", table: "accelerometer",
        summary: "Acceleration including gravity; at rest, face up: (0, 0, -1)",
        columns: .axes(unit: "g"), pausesInBackground: true)

    /// Rotation rate in rad/s about the device axes.
    public static let gyroscope = SensorStream(
        name: "motion/gyroscope", table: "gyroscope",
        summary: "Rotation rate about the device axes, right-handed",
        columns: .axes(unit: "rad/s"), pausesInBackground: true)

    /// Uncalibrated magnetic field in µT along the device axes.
    public static let magnetometer = SensorStream(
        name: "motion/magnetometer", table: "magnetometer",
        summary: "Magnetic field along the device axes, uncalibrated",
        columns: .axes(unit: "µT"), pausesInBackground: true)

    /// Attitude, gravity, user acceleration, rotation rate and calibrated magnetic field.
    public static let deviceMotion = SensorStream(
        name: "motion/device", table: "device_motion",
        summary: "Attitude with gravity, user acceleration, rotation rate and magnetic field",
        columns: .quaternion + .axes("g", unit: "g", summary: "Gravity")
            + .axes("u", unit: "g", summary: "User acceleration")
            + .axes("r", unit: "rad/s", summary: "Rotation rate without bias")
            + .axes("m", unit: "µT", summary: "Calibrated magnetic field")
            + [
                Column(
                    name: "macc", kind: .integer, unit: "", isRequired: false,
                    summary: "Accuracy of the field: -1 uncalibrated, 0 low, 1 medium, 2 high"),
                Column(
                    name: "frame",
                    kind: .choice(["arbitrary", "arbitraryCorrected", "magneticNorth", "trueNorth"]), unit: "",
                    isRequired: true, summary: "Reference frame of the attitude"),
            ], pausesInBackground: true, defaultRate: 50)

    /// Changes of the orientation of the device, such as portrait or face up.
    public static let orientation = SensorStream(
        name: "orientation", table: "orientation",
        summary: "Orientation of the device from time t on",
        columns: [
            Column(
                name: "value",
                kind: .choice([
                    "portrait", "portraitUpsideDown", "landscapeLeft", "landscapeRight", "faceUp", "faceDown",
                ]), unit: "", isRequired: true, summary: "Device orientation")
        ], pausesInBackground: true, resampling: .everySample)

    /// Steps with distance, pace and cadence, in intervals that do not overlap.
    public static let steps = SensorStream(
        name: "steps", table: "steps",
        summary: "Steps taken after start, up to t; intervals do not overlap",
        columns: [
            Column(
                name: "start", kind: .integer, unit: "µs since 1970", isRequired: true, summary: "Start of the interval"
            ),
            Column(
                name: "steps", kind: .integer, unit: "", isRequired: true, summary: "Steps in the interval",
                aggregate: .sum, range: .notNegative),
            Column(
                name: "distance", kind: .real, unit: "m", isRequired: false, summary: "Distance walked",
                aggregate: .sum, range: .notNegative),
            Column(
                name: "pace", kind: .real, unit: "s/m", isRequired: false, summary: "Current pace",
                range: .notNegative),
            Column(
                name: "avg_pace", kind: .real, unit: "s/m", isRequired: false, summary: "Average active pace",
                range: .notNegative),
            Column(
                name: "cadence", kind: .real, unit: "steps/s", isRequired: false, summary: "Current cadence",
                range: .notNegative),
        ], resampling: .everySample)

    /// Floors climbed, in intervals that do not overlap.
    public static let floors = SensorStream(
        name: "floors", table: "floors",
        summary: "Floors climbed after start, up to t; a sample for each floor",
        columns: [
            Column(
                name: "start", kind: .integer, unit: "µs since 1970", isRequired: true, summary: "Start of the climb"),
            Column(
                name: "ascended", kind: .integer, unit: "", isRequired: true, summary: "Floors climbed up",
                aggregate: .sum, range: .notNegative),
            Column(
                name: "descended", kind: .integer, unit: "", isRequired: true, summary: "Floors climbed down",
                aggregate: .sum, range: .notNegative),
        ], resampling: .everySample)

    /// Changes of what the person with the device is doing.
    public static let activity = SensorStream(
        name: "activity", table: "activity",
        summary: "What the person with the device does since start, recognised at t; a sample for each change",
        columns: [
            Column(
                name: "start", kind: .integer, unit: "µs since 1970", isRequired: true, summary: "Start of the activity"
            ),
            Column(
                name: "value",
                kind: .choice(["unknown", "stationary", "walking", "running", "cycling", "automotive"]), unit: "",
                isRequired: true, summary: "Activity"),
            Column(
                name: "confidence", kind: .choice(["low", "medium", "high"]), unit: "", isRequired: true,
                summary: "How sure it is"),
        ], resampling: .everySample)

    /// Position fixes.
    public static let location = SensorStream(
        name: "location", table: "location",
        summary: "Position fix (WGS 84); the position is null while the receiver has no fix",
        columns: [
            Column(
                name: "lat", kind: .real, unit: "°", isRequired: false, summary: "Latitude, north positive",
                range: -90...90),
            Column(
                name: "lon", kind: .real, unit: "°", isRequired: false, summary: "Longitude, east positive",
                aggregate: .meanLongitude, range: -180...180),
            Column(name: "alt", kind: .real, unit: "m", isRequired: false, summary: "Altitude above mean sea level"),
            Column(
                name: "hacc", kind: .real, unit: "m", isRequired: false, summary: "Horizontal accuracy",
                range: .notNegative),
            Column(
                name: "vacc", kind: .real, unit: "m", isRequired: false, summary: "Vertical accuracy",
                range: .notNegative),
            Column(
                name: "speed", kind: .real, unit: "m/s", isRequired: false, summary: "Speed over ground",
                range: .notNegative),
            Column(
                name: "course", kind: .real, unit: "°", isRequired: false, summary: "Course, clockwise from north",
                aggregate: Aggregate.none, range: .direction),
            Column(
                name: "fix", kind: .integer, unit: "", isRequired: false,
                summary: "Dimensions of the fix: 2 or 3; 1 without a fix"),
            Column(
                name: "at", kind: .integer, unit: "µs since 1970", isRequired: false,
                summary: "Time of the fix by the receiver's clock; t - at is the age of the fix"),
        ], background: .distance(500), resampling: .firstOfInterval)

    /// Air pressure in hPa.
    public static let pressure = SensorStream(
        name: "pressure", table: "pressure",
        summary: "Air pressure",
        columns: [
            Column(
                name: "pressure", kind: .real, unit: "hPa", isRequired: true, summary: "Air pressure",
                range: .notNegative)
        ],
        background: .rate(0.1))

    /// Altitude in m above the starting point of the measurement, from air pressure.
    public static let altitude = SensorStream(
        name: "altitude", table: "altitude",
        summary: "Altitude above the starting point of the measurement, from air pressure",
        columns: [
            Column(
                name: "altitude", kind: .real, unit: "m", isRequired: true,
                summary: "Altitude above the starting point")
        ], background: .rate(0.1), resampling: .nearest)

    /// Magnetic and true heading in degrees.
    public static let heading = SensorStream(
        name: "heading", table: "heading",
        summary: "Direction of the device's top edge, clockwise from north",
        columns: [
            Column(
                name: "magnetic", kind: .real, unit: "°", isRequired: true,
                summary: "Heading from magnetic north, 0 to 360", aggregate: Aggregate.none,
                range: .direction),
            Column(
                name: "true_north", kind: .real, unit: "°", isRequired: false,
                summary: "Heading from true north, 0 to 360; null where the declination is not known",
                aggregate: Aggregate.none, range: .direction),
            Column(
                name: "accuracy", kind: .real, unit: "°", isRequired: false,
                summary: "Maximum expected error; null while the magnetic field is not calibrated",
                range: .direction),
        ], pausesInBackground: true, defaultRate: 10)

    /// Charge and state of the battery.
    public static let battery = SensorStream(
        name: "battery", table: "battery",
        summary: "Charge and state of the battery, on every change and at least every five minutes",
        columns: [
            Column(
                name: "level", kind: .real, unit: "", isRequired: false, summary: "Charge, from 0 to 1", range: 0...1),
            Column(
                name: "state",
                kind: .choice(["unknown", "charging", "discharging", "notCharging", "full"]), unit: "",
                isRequired: true, summary: "Charging state"),
        ], resampling: .everySample)

    /// All built-in streams.
    public static let builtIn: [SensorStream] = [
        accelerometer, gyroscope, magnetometer, deviceMotion, steps, floors, activity, location, orientation,
        pressure, altitude, heading, battery,
    ]
}

extension ClosedRange<Double> {
    fileprivate static var notNegative: Self { 0...Double.infinity }
    /// An angle in degrees.
    fileprivate static var direction: Self { 0...360 }
}

extension [SensorStream.Column] {
    /// Three required axes with the same unit.
    fileprivate static func axes(unit: String) -> [SensorStream.Column] {
        ["x", "y", "z"].map {
            SensorStream.Column(name: $0, kind: .real, unit: unit, isRequired: true, summary: "Along the \($0) axis")
        }
    }

    /// Three optional axes with the same unit and name prefix.
    fileprivate static func axes(_ prefix: String, unit: String, summary: String) -> [SensorStream.Column] {
        ["x", "y", "z"].map {
            SensorStream.Column(
                name: prefix + $0, kind: .real, unit: unit, isRequired: false,
                summary: "\(summary) along the \($0) axis")
        }
    }

    /// A required unit quaternion that rotates from the device to the reference frame.
    fileprivate static var quaternion: [SensorStream.Column] {
        ["w", "x", "y", "z"].map {
            SensorStream.Column(
                name: "q" + $0, kind: .real, unit: "", isRequired: true,
                summary: "Attitude, device to reference frame: component \($0) of a unit quaternion",
                aggregate: SensorStream.Aggregate.none)
        }
    }
}
