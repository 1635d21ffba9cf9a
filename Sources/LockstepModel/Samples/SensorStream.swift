/// A kind of sample of a device: its topic channel, its table and its columns.
///
/// A built-in stream is a constant listed in ``builtIn``. Users declare further streams in the settings, see
/// ``init(declaring:summary:columns:pausesInBackground:)``. Topics, payload checks, tables and the command line follow
/// from the definition. A ``StreamCatalog`` finds streams by name.
public struct SensorStream: Sendable {
    /// The channel below `{root}/{group}/{device}/`, such as `motion/accelerometer`.
    public let name: String
    /// The name of the stream's table in a store, such as `accelerometer`.
    public let table: String
    /// A one-line description of a sample.
    public let summary: String
    /// The columns of a sample, in the order of payloads, tables and query output.
    public let columns: [Column]
    /// Whether the agent pauses this stream by default in the background phase.
    public let pausesInBackground: Bool

    /// A column: one value of each sample.
    public struct Column: Sendable, Hashable {
        /// The name in payloads, tables and query output.
        public let name: String
        /// The kind of values.
        public let kind: Kind
        /// The unit (`g`, `rad/s`, `µT`, `m`, …), or an empty text if the values have none.
        public let unit: String
        /// Whether every payload must contain this column without nulls.
        public let isRequired: Bool
        /// A one-line description of the values.
        public let summary: String
        /// The function that combines the column's values over a time span.
        public let aggregate: Aggregate

        /// - Parameter aggregate: nil for the default: the mean for real numbers, none for other kinds.
        init(
            name: String, kind: Kind, unit: String, isRequired: Bool, summary: String, aggregate: Aggregate? = nil
        ) {
            self.name = name
            self.kind = kind
            self.unit = unit
            self.isRequired = isRequired
            self.summary = summary
            self.aggregate = aggregate ?? (kind == .real ? .mean : .none)
        }
    }

    /// The kind of a column's values. In memory every value is a `Double`, and NaN stands for null.
    public enum Kind: Sendable, Hashable {
        /// A floating-point number.
        case real
        /// A whole number with a magnitude below 2⁵³.
        case integer
        /// One of a fixed list of words. In memory the value is the index of the word.
        case choice([String])

        /// Returns whether a payload can contain `value`. Other values are encoded as null.
        public func accepts(_ value: Double) -> Bool {
            switch self {
            case .real: value.isFinite
            case .integer: value.rounded() == value && abs(value) < 9_007_199_254_740_992
            case .choice(let words): Int(exactly: value).map(words.indices.contains) ?? false
            }
        }
    }
}

extension SensorStream {
    /// Acceleration including gravity.
    public static let accelerometer = SensorStream(
        name: "motion/accelerometer", table: "accelerometer",
        summary: "Acceleration including gravity; at rest, face up: (0, 0, -1)",
        columns: .axes(unit: "g"), pausesInBackground: true)

    /// Rotation rate.
    public static let gyroscope = SensorStream(
        name: "motion/gyroscope", table: "gyroscope",
        summary: "Rotation rate about the device axes, right-handed",
        columns: .axes(unit: "rad/s"), pausesInBackground: true)

    /// Uncalibrated magnetic field.
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
            ], pausesInBackground: true)

    /// Orientation of the device, such as portrait or face up.
    public static let orientation = SensorStream(
        name: "orientation", table: "orientation",
        summary: "Orientation of the device from this time on",
        columns: [
            Column(
                name: "value",
                kind: .choice([
                    "portrait", "portraitUpsideDown", "landscapeLeft", "landscapeRight", "faceUp", "faceDown",
                ]), unit: "", isRequired: true, summary: "Device orientation")
        ], pausesInBackground: true)

    /// Steps with distance, pace and cadence.
    public static let steps = SensorStream(
        name: "steps", table: "steps",
        summary: "Steps taken in the interval (start, t]; intervals are disjoint",
        columns: [
            Column(
                name: "start", kind: .integer, unit: "µs since 1970", isRequired: true, summary: "Start of the interval"
            ),
            Column(
                name: "steps", kind: .integer, unit: "", isRequired: true, summary: "Steps in the interval",
                aggregate: .sum),
            Column(
                name: "distance", kind: .real, unit: "m", isRequired: false, summary: "Distance walked", aggregate: .sum
            ),
            Column(name: "pace", kind: .real, unit: "s/m", isRequired: false, summary: "Current pace"),
            Column(name: "avg_pace", kind: .real, unit: "s/m", isRequired: false, summary: "Average active pace"),
            Column(name: "cadence", kind: .real, unit: "steps/s", isRequired: false, summary: "Current cadence"),
        ], pausesInBackground: false)

    /// Position fixes.
    public static let location = SensorStream(
        name: "location", table: "location",
        summary: "Position fix (WGS 84); position columns are null while the receiver has no fix",
        columns: [
            Column(name: "lat", kind: .real, unit: "°", isRequired: false, summary: "Latitude, north positive"),
            Column(
                name: "lon", kind: .real, unit: "°", isRequired: false, summary: "Longitude, east positive",
                aggregate: .meanLongitude),
            Column(name: "alt", kind: .real, unit: "m", isRequired: false, summary: "Altitude above mean sea level"),
            Column(name: "hacc", kind: .real, unit: "m", isRequired: false, summary: "Horizontal accuracy"),
            Column(name: "vacc", kind: .real, unit: "m", isRequired: false, summary: "Vertical accuracy"),
            Column(name: "speed", kind: .real, unit: "m/s", isRequired: false, summary: "Speed over ground"),
            Column(
                name: "course", kind: .real, unit: "°", isRequired: false, summary: "Course, clockwise from north",
                aggregate: Aggregate.none),
            Column(
                name: "fix", kind: .integer, unit: "", isRequired: false,
                summary: "Dimensions of the fix: 2 or 3; 1 means no fix"),
            Column(
                name: "at", kind: .integer, unit: "µs since 1970", isRequired: false,
                summary: "Time of the fix on the receiver's clock; t - at is the age of the fix"),
        ], pausesInBackground: false)

    /// All built-in streams.
    public static let builtIn: [SensorStream] = [
        accelerometer, gyroscope, magnetometer, deviceMotion, steps, location, orientation,
    ]
}

extension SensorStream: Hashable, CustomStringConvertible {
    /// Returns whether both streams have the same name.
    public static func == (left: SensorStream, right: SensorStream) -> Bool { left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    public var description: String { name }
}

extension [SensorStream.Column] {
    /// Returns three required columns `x`, `y` and `z` of one unit.
    fileprivate static func axes(unit: String) -> [SensorStream.Column] {
        ["x", "y", "z"].map {
            SensorStream.Column(name: $0, kind: .real, unit: unit, isRequired: true, summary: "Along the \($0) axis")
        }
    }

    /// Returns three optional columns: `prefix` followed by `x`, `y` and `z`.
    fileprivate static func axes(_ prefix: String, unit: String, summary: String) -> [SensorStream.Column] {
        ["x", "y", "z"].map {
            SensorStream.Column(
                name: prefix + $0, kind: .real, unit: unit, isRequired: false,
                summary: "\(summary) along the \($0) axis")
        }
    }

    /// Four required columns: the unit quaternion that rotates the device frame into the reference frame.
    fileprivate static var quaternion: [SensorStream.Column] {
        ["w", "x", "y", "z"].map {
            SensorStream.Column(
                name: "q" + $0, kind: .real, unit: "", isRequired: true,
                summary: "Attitude, device to reference frame: component \($0) of a unit quaternion",
                aggregate: SensorStream.Aggregate.none)
        }
    }
}
