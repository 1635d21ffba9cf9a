/// One kind of sample of a device: its topic channel, its table and its columns.
///
/// ``all`` is the one place that defines streams: topics, payloads, tables and the command line follow from it. A new
/// stream is one more constant, named in ``all``.
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
    }

    /// What a column's values are. In memory each is a `Double`; not a number stands for null.
    public enum Kind: Sendable, Hashable {
        case real
        /// A whole number of magnitude below 2⁵³.
        case integer
        /// One of a few words; in memory its index.
        case choice([String])
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

    public static let steps = SensorStream(
        name: "steps", table: "steps",
        summary: "Steps taken in the interval (start, t]; intervals are disjoint",
        columns: [
            Column(
                name: "start", kind: .integer, unit: "µs since 1970", isRequired: true, summary: "Start of the interval"
            ),
            Column(name: "steps", kind: .integer, unit: "", isRequired: true, summary: "Steps in the interval"),
            Column(name: "distance", kind: .real, unit: "m", isRequired: false, summary: "Distance walked"),
            Column(name: "pace", kind: .real, unit: "s/m", isRequired: false, summary: "Current pace"),
            Column(name: "avg_pace", kind: .real, unit: "s/m", isRequired: false, summary: "Average active pace"),
            Column(name: "cadence", kind: .real, unit: "steps/s", isRequired: false, summary: "Current cadence"),
        ], pausesInBackground: false)

    public static let location = SensorStream(
        name: "location", table: "location",
        summary: "Position fix, WGS 84; without position where the receiver has no fix",
        columns: [
            Column(name: "lat", kind: .real, unit: "°", isRequired: false, summary: "Latitude, north positive"),
            Column(name: "lon", kind: .real, unit: "°", isRequired: false, summary: "Longitude, east positive"),
            Column(name: "alt", kind: .real, unit: "m", isRequired: false, summary: "Altitude above mean sea level"),
            Column(name: "hacc", kind: .real, unit: "m", isRequired: false, summary: "Horizontal accuracy"),
            Column(name: "vacc", kind: .real, unit: "m", isRequired: false, summary: "Vertical accuracy"),
            Column(name: "speed", kind: .real, unit: "m/s", isRequired: false, summary: "Speed over ground"),
            Column(name: "course", kind: .real, unit: "°", isRequired: false, summary: "Course, clockwise from north"),
            Column(
                name: "fix", kind: .integer, unit: "", isRequired: false,
                summary: "Dimensions of the fix: 2 or 3; 1 says that there is none"),
            Column(
                name: "at", kind: .integer, unit: "µs since 1970", isRequired: false,
                summary: "The receiver's own time of the fix; t - at is its age"),
        ], pausesInBackground: false)

    /// Every stream there is.
    public static let all: [SensorStream] = [accelerometer, gyroscope, magnetometer, steps, location]

    /// The stream of a topic channel or of a table: `motion/accelerometer` and `accelerometer` name the same.
    public static func named(_ name: String) -> SensorStream? { byName[name] }

    private static let byName: [String: SensorStream] = Dictionary(
        all.flatMap { stream in [(stream.name, stream), (stream.table, stream)] },
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
}
