/// A type of sensor data: its topic channel, table, columns and default rates.
///
/// A built-in stream is a constant listed in ``builtIn``. Users declare further streams in the settings, see
/// ``init(declaring:summary:columns:pausesInBackground:)``. Topics, payload checks, tables, views, default rates,
/// queries, exports and the command line are derived from the definition. A ``StreamCatalog`` looks up streams by name.
public struct SensorStream: Sendable {
    /// The name, which is also the channel below `{root}/{group}/{device}/`: `motion/accelerometer`.
    public let name: String
    /// The table in a store: `accelerometer`.
    public let table: String
    /// A one-line description of a sample.
    public let summary: String
    /// The columns, in their order in payloads and tables.
    public let columns: [Column]
    /// The default publishing rate in samples per second, or nil for the native rate of the source.
    public let defaultRate: Double?
    /// The part of the stream that is published in the background phase by default.
    public let background: BackgroundDefault
    /// The method that reduces samples to a lower rate.
    public let resampling: Resampling

    /// Whether an agent pauses this stream in the background phase by default.
    public var pausesInBackground: Bool { background == .paused }

    /// - Parameters:
    ///   - pausesInBackground: Whether the stream pauses in the background phase by default.
    ///   - background: The default in the background phase, or nil to derive it from `pausesInBackground`.
    ///   - resampling: The default is a low-pass filter if every column is a number that can be averaged, otherwise the
    ///     nearest sample.
    package init(
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

    /// The part of a stream that is published in the background phase by default.
    public enum BackgroundDefault: Sendable, Hashable {
        /// No samples.
        case paused
        /// The same samples as in the foreground.
        case unchanged
        /// At most this number of samples per second.
        case rate(Double)
        /// One sample after each movement by this distance in m. For locations.
        case distance(Double)
    }

    /// A method that reduces samples to the requested rate.
    public enum Resampling: Sendable, Hashable {
        /// A low-pass filter, then sampling. For measurements whose columns can all be averaged.
        case lowPass
        /// The sample nearest to each instant. For values that cannot be averaged column by column, such as attitudes.
        case nearest
        /// The first sample of each interval. For position fixes.
        case firstOfInterval
        /// No reduction. For counts, where a lost sample would change the sum, and for state changes.
        case everySample
    }

    /// A column: one value of each sample.
    public struct Column: Sendable, Hashable {
        /// The name in payloads, tables and query output.
        public let name: String
        /// The kind of the column's values.
        public let kind: Kind
        /// The unit (`g`, `rad/s`, `µT`, `m`, …), or an empty string for a value without a unit.
        public let unit: String
        /// Whether every sample must have a value in this column.
        public let isRequired: Bool
        /// A one-line description of the column's values.
        public let summary: String
        /// The aggregate of the column's values over a time span.
        public let aggregate: Aggregate
        /// The possible values, or nil if every value is possible. A value outside is an error of its sender.
        public let range: ClosedRange<Double>?

        /// - Parameter aggregate: The default is the mean for real numbers and none for other kinds.
        package init(
            name: String, kind: Kind, unit: String, isRequired: Bool, summary: String, aggregate: Aggregate? = nil,
            range: ClosedRange<Double>? = nil
        ) {
            self.name = name
            self.kind = kind
            self.unit = unit
            self.isRequired = isRequired
            self.summary = summary
            self.aggregate = aggregate ?? (kind == .real ? .mean : .none)
            self.range = range
        }

        /// Returns whether `value` is of the kind and in the range of the column.
        public func accepts(_ value: Double) -> Bool { kind.accepts(value) && range?.contains(value) != false }

        /// Returns the first value outside of the range, or nil if there is none. NaN, which represents null, is not outside.
        package func firstOutside(_ values: ArraySlice<Double>) -> Double? {
            guard let range else { return nil }
            return values.first { !range.contains($0) && !$0.isNaN }
        }

        /// The range in words, such as `from 0 to 1`; empty without a range.
        public var rangeText: String {
            guard let range else { return "" }
            let least = range.lowerBound.shortText
            return range.upperBound.isInfinite ? "at least \(least)" : "from \(least) to \(range.upperBound.shortText)"
        }
    }

    /// The kind of a column's values. In memory every value is a `Double`; NaN represents null.
    public enum Kind: Sendable, Hashable {
        /// A floating-point number.
        case real
        /// A whole number of magnitude below 2⁵³.
        case integer
        /// One of a fixed list of words. In memory, the index of the word.
        case choice([String])

        /// Returns whether a payload can represent `value`. Other values are encoded as null.
        public func accepts(_ value: Double) -> Bool {
            switch self {
            case .real: value.isFinite
            case .integer: value.rounded() == value && abs(value) < 9_007_199_254_740_992
            case .choice(let words): Int(exactly: value).map(words.indices.contains) ?? false
            }
        }
    }
}

extension Double {
    /// The number without a fraction of zero: `90` instead of `90.0`.
    package var shortText: String { Int64(exactly: self).map(String.init) ?? description }
}

extension SensorStream: Hashable, CustomStringConvertible {
    /// Returns whether two streams have the same name.
    public static func == (left: SensorStream, right: SensorStream) -> Bool { left.name == right.name }
    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
    /// The name of the stream.
    public var description: String { name }
}

// The names of kinds and aggregates in declarations of streams.

extension SensorStream.Kind {
    /// The name of the kind in a declaration: `real`, `integer` or `choice`.
    public var name: String {
        switch self {
        case .real: "real"
        case .integer: "integer"
        case .choice: "choice"
        }
    }

    /// The words of a `choice`, or nil for other kinds.
    public var words: [String]? { if case .choice(let words) = self { words } else { nil } }

    /// Creates the kind with this name. `number` is an alias of `real`.
    /// - Parameter words: the words of a `choice`, or nil if none are declared.
    /// - Throws: ``StreamDeclarationError`` if there is no such kind, or if words are given for a kind other than
    ///   `choice`.
    public init(name: String, words: [String]? = nil) throws(StreamDeclarationError) {
        switch name {
        case "real", "number": self = .real
        case "integer": self = .integer
        case "choice": self = .choice(words ?? [])
        default:
            let hint =
                ["text", "string"].contains(name)
                ? "free text cannot be stored; use choice with a list of words"
                : "use real, integer, or choice with a list of words"
            throw StreamDeclarationError("unknown kind '\(name.prefix(40))': \(hint)")
        }
        if name != "choice", words != nil {
            throw StreamDeclarationError(
                "'words' are only allowed for the kind choice: remove them, or use 'kind: choice'")
        }
    }
}

extension SensorStream.Aggregate {
    /// Creates the aggregate with this name in a declaration.
    /// - Throws: ``StreamDeclarationError`` if there is no such aggregate.
    public init(name: String) throws(StreamDeclarationError) {
        guard let aggregate = Self(rawValue: name) else {
            throw StreamDeclarationError(
                "unknown aggregate '\(name.prefix(40))': use \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = aggregate
    }
}

extension SensorStream.Column {
    /// Whether the values are times, in µs since 1970. Human-readable output shows them as ISO 8601.
    public var isTime: Bool { kind == .integer && unit == "µs since 1970" }
}

extension SensorStream {
    /// The function that combines the values of a column over a time span.
    public enum Aggregate: String, Sendable, Hashable, CaseIterable {
        /// The arithmetic mean of the known values.
        case mean
        /// The mean of longitudes in degrees, correct across the 180th meridian for positions close to each other.
        case meanLongitude = "mean-longitude"
        /// The sum of the known values. For amounts per interval, such as steps. The intervals must not overlap.
        case sum
        /// No aggregate. For words, times and angles. The mean of the angles 359° and 1° would be 180° instead of 0°.
        case none
    }

    /// The columns of aggregated rows: every column with an aggregate, and `samples`, the number of samples in the time
    /// span.
    public var aggregateColumns: [Column] {
        columns.filter { $0.aggregate != .none } + [
            Column(name: "samples", kind: .integer, unit: "", isRequired: true, summary: "Samples in the span")
        ]
    }
}
