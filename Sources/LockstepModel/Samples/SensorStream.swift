/// One kind of sample of a device: its topic channel, its table and its columns.
///
/// ``builtIn`` is the one place that defines streams: topics, payloads, tables and the command line follow from it. A new
/// stream is one more constant, named in ``builtIn``.
public struct SensorStream: Sendable {
    /// The channel below `{root}/{group}/{device}/`: `motion/accelerometer`.
    public let name: String
    /// The table in a store: `accelerometer`.
    public let table: String
    /// One line for people: what a row is.
    public let summary: String
    public let columns: [Column]
    /// Whether the agent pauses this stream in the background phase unless told otherwise.
    public let pausesInBackground: Bool

    /// One value of a sample.
    public struct Column: Sendable, Hashable {
        public let name: String
        public let kind: Kind
        /// The unit (`g`, `rad/s`, `µT`, `m`, …), empty for a number without one.
        public let unit: String
        /// Whether a payload must carry this column, and without nulls.
        public let isRequired: Bool
        public let summary: String
        /// What stands for its values over a span of time.
        public let aggregate: Aggregate

        /// - Parameter aggregate: the mean of real numbers, and nothing for others, unless told otherwise.
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

    /// What a column's values are. In memory each is a `Double`; not a number stands for null.
    public enum Kind: Sendable, Hashable {
        case real
        /// A whole number of magnitude below 2⁵³.
        case integer
        /// One of a few words; in memory its index.
        case choice([String])

        /// Whether a payload can carry this value; what it can't is null there.
        public func takes(_ value: Double) -> Bool {
            switch self {
            case .real: value.isFinite
            case .integer: value.rounded() == value && abs(value) < 9_007_199_254_740_992
            case .choice(let words): Int(exactly: value).map(words.indices.contains) ?? false
            }
        }
    }
}

extension SensorStream {
    public static let accelerometer = SensorStream(
        name: "motion/accelerometer", table: "accelerometer",
        summary: "Acceleration including gravity; at rest, face up: (0, 0, -1)",
        columns: .axes(unit: "g"), pausesInBackground: true)

    public static let gyroscope = SensorStream(
        name: "motion/gyroscope", table: "gyroscope",
        summary: "Rotation rate about the device axes, right-handed",
        columns: .axes(unit: "rad/s"), pausesInBackground: true)

    public static let magnetometer = SensorStream(
        name: "motion/magnetometer", table: "magnetometer",
        summary: "Magnetic field along the device axes, uncalibrated",
        columns: .axes(unit: "µT"), pausesInBackground: true)

    public static let deviceMotion = SensorStream(
        name: "motion/device", table: "device_motion",
        summary: "Attitude, and what it tells apart: gravity, user acceleration, rotation rate, magnetic field",
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

    public static let orientation = SensorStream(
        name: "orientation", table: "orientation",
        summary: "How the device is held, from this time on",
        columns: [
            Column(
                name: "value",
                kind: .choice([
                    "portrait", "portraitUpsideDown", "landscapeLeft", "landscapeRight", "faceUp", "faceDown",
                ]), unit: "", isRequired: true, summary: "Device orientation")
        ], pausesInBackground: true)

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

    public static let location = SensorStream(
        name: "location", table: "location",
        summary: "Position fix, WGS 84; without position where the receiver has no fix",
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
                summary: "Dimensions of the fix: 2 or 3; 1 says that there is none"),
            Column(
                name: "at", kind: .integer, unit: "µs since 1970", isRequired: false,
                summary: "The receiver's own time of the fix; t - at is its age"),
        ], pausesInBackground: false)

    /// Every stream there is.
    public static let builtIn: [SensorStream] = [
        accelerometer, gyroscope, magnetometer, deviceMotion, steps, location, orientation,
    ]

    /// The stream of a topic channel or of a table: `motion/accelerometer` and `accelerometer` name the same.
    public static func named(_ name: String) -> SensorStream? { byName[name] }

    private static let byName: [String: SensorStream] = Dictionary(
        builtIn.flatMap { stream in [(stream.name, stream), (stream.table, stream)] },
        uniquingKeysWith: { first, _ in first })
}

extension SensorStream: Hashable, CustomStringConvertible {
    public static func == (left: SensorStream, right: SensorStream) -> Bool { left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    public var description: String { name }
}

extension [SensorStream.Column] {
    /// Three required axes of one unit.
    fileprivate static func axes(unit: String) -> [SensorStream.Column] {
        ["x", "y", "z"].map {
            SensorStream.Column(name: $0, kind: .real, unit: unit, isRequired: true, summary: "Along the \($0) axis")
        }
    }

    /// Three axes, named after what they are of, that may be unknown.
    fileprivate static func axes(_ prefix: String, unit: String, summary: String) -> [SensorStream.Column] {
        ["x", "y", "z"].map {
            SensorStream.Column(
                name: prefix + $0, kind: .real, unit: unit, isRequired: false,
                summary: "\(summary) along the \($0) axis")
        }
    }

    /// A rotation from the device to the reference frame.
    fileprivate static var quaternion: [SensorStream.Column] {
        ["w", "x", "y", "z"].map {
            SensorStream.Column(
                name: "q" + $0, kind: .real, unit: "", isRequired: true,
                summary: "Attitude, device to reference frame: component \($0) of a unit quaternion",
                aggregate: SensorStream.Aggregate.none)
        }
    }
}
