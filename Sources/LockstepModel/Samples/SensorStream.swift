/// A kind of sample of a device: its topic channel, table, columns and default rates.
///
/// A built-in stream is a constant listed in ``builtIn``. Users declare further streams in the settings, see
/// ``init(declaring:summary:columns:pausesInBackground:)``. Topics, payload checks, tables, views, default rates, queries,
/// exports and the command line follow from the definition. A ``StreamCatalog`` finds streams by name.
public struct SensorStream: Sendable {
    /// The channel below `{root}/{group}/{device}/`: `motion/accelerometer`.
    public let name: String
    /// The table in a store: `accelerometer`.
    public let table: String
    /// A one-line description of a sample.
    public let summary: String
    /// The values of a sample, in the order of the payload and the table.
    public let columns: [Column]
    /// The rate in samples/s that an agent publishes by default; nil for the native rate of the source.
    public let defaultRate: Double?
    /// The default in the background phase.
    public let background: BackgroundDefault
    /// How samples are reduced to a lower rate.
    public let resampling: Resampling

    /// Whether an agent pauses this stream in the background phase by default.
    public var pausesInBackground: Bool { background == .paused }

    /// - Parameters:
    ///   - pausesInBackground: Whether the stream pauses in the background phase by default.
    ///   - background: The default in the background phase, if it is more than on or off.
    ///   - resampling: The default is a low-pass filter if every column is a number that can be averaged, otherwise the
    ///     nearest sample.
    init(
        name: String, table: String, summary: String, columns: [Column], pausesInBackground: Bool = false,
        background: BackgroundDefault? = nil, defaultRate: Double? = nil, resampling: Resampling? = nil
    ) {
        self.name = name
        self.table = table
        self.summary = summary
        self.columns = columns
        self.defaultRate = defaultRate
        self.background = background ?? (pausesInBackground ? .paused : .unchanged)
        let canAverage = columns.allSatisfy { $0.kind == .real && $0.aggregate == .mean }
        self.resampling = resampling ?? (canAverage ? .lowPass : .nearest)
    }

    /// How much of a stream is published in the background phase by default.
    public enum BackgroundDefault: Sendable, Hashable {
        /// Nothing.
        case paused
        /// As much as in the foreground.
        case unchanged
        /// At most this rate, in samples/s.
        case rate(Double)
        /// A sample after each movement by this distance in m; for locations.
        case distance(Double)
    }

    /// How samples that arrive faster than requested are reduced.
    public enum Resampling: Sendable, Hashable {
        /// Low-pass filtered, then sampled: for measurements of which each column can be averaged.
        case lowPass
        /// The sample nearest to each instant: for values without a column-by-column mean, such as attitudes.
        case nearest
        /// The first sample of each interval: for fixes.
        case firstOfInterval
        /// Not reduced: for counts, of which every one matters, and for changes.
        case everySample
    }

    /// One value of a sample.
    public struct Column: Sendable, Hashable {
        /// The name in payloads, tables and query output.
        public let name: String
        /// The kind of its values.
        public let kind: Kind
        /// The unit (`g`, `rad/s`, `µT`, `m`, …), empty for a number without one.
        public let unit: String
        /// Whether every sample must have a value in this column.
        public let isRequired: Bool
        /// A one-line description of its values.
        public let summary: String
        /// The aggregate of its values over a time span.
        public let aggregate: Aggregate

        /// - Parameter aggregate: The default is the mean for real numbers and none for other kinds.
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

    /// The kind of a column's values. In memory every value is a `Double`; NaN represents null.
    public enum Kind: Sendable, Hashable {
        /// A floating-point number.
        case real
        /// A whole number of magnitude below 2⁵³.
        case integer
        /// One of a fixed set of words; in memory its index.
        case choice([String])

        /// Returns whether a payload can carry this value; other values become null.
        public func accepts(_ value: Double) -> Bool {
            switch self {
            case .real: value.isFinite
            case .integer: value.rounded() == value && abs(value) < 9_007_199_254_740_992
            case .choice(let words): Int(exactly: value).map(words.indices.contains) ?? false
            }
        }
    }
}

extension SensorStream: Hashable, CustomStringConvertible {
    /// Returns whether two streams have the same name.
    public static func == (left: SensorStream, right: SensorStream) -> Bool { left.name == right.name }
    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    /// The name of the stream.
    public var description: String { name }
}
