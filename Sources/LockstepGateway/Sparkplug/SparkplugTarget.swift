public import LockstepModel

/// The column for a metric of Sparkplug: its value times ``factor`` plus ``offset``.
public struct SparkplugTarget: Sendable, Hashable {
    /// The name of the stream.
    public var stream: String
    /// The name of the column.
    public var column: String
    /// The factor for numbers.
    public var factor: Double
    /// The number added after the multiplication.
    public var offset: Double

    /// Creates a target.
    public init(stream: String, column: String, factor: Double = 1, offset: Double = 0) {
        self.stream = stream
        self.column = column
        self.factor = factor
        self.offset = offset
    }

    /// Returns the value of the column for the value of a metric.
    func reading(_ value: Reading.Value) -> Reading.Value {
        guard case .number(let number) = value else { return value }
        return .number(number * factor + offset)
    }
}

/// The columns of all metrics.
public struct SparkplugTargets: Sendable {
    /// The stream of a metric that nothing else names, if it is declared: this and the name of the metric.
    static let prefix = "x/sparkplug/"

    private let entries: [String: SparkplugTarget]
    private let catalog: StreamCatalog

    /// Creates targets.
    /// - Parameters:
    ///   - entries: the columns by the full names of the metrics.
    ///   - catalog: the streams, with which ``target(of:)`` finds the columns of other metrics.
    public init(_ entries: [String: SparkplugTarget] = [:], catalog: StreamCatalog = .builtIn) {
        self.entries = entries
        self.catalog = catalog
    }

    /// Returns the column of a metric: that of the settings; else the column `STREAM/COLUMN`; else the column `value` of
    /// the stream `x/sparkplug/NAME`, if it is declared.
    /// - Returns: nil if there is none.
    public func target(of metric: String) -> SparkplugTarget? {
        if let entry = entries[metric] { return entry }
        if let end = metric.lastIndex(of: "/") {
            let column = metric[metric.index(after: end)...]
            if let stream = catalog.stream(ofChannel: String(metric[..<end])),
                stream.columns.contains(where: { $0.name == column })
            {
                return SparkplugTarget(stream: stream.name, column: String(column))
            }
        }
        guard let stream = catalog.stream(ofChannel: Self.prefix + Self.streamName(metric)),
            stream.columns.contains(where: { $0.name == "value" })
        else { return nil }
        return SparkplugTarget(stream: stream.name, column: "value")
    }

    /// Returns the stream and the column of a target, or nil if they are not declared.
    func column(of target: SparkplugTarget) -> (stream: SensorStream, column: SensorStream.Column)? {
        guard let stream = catalog.stream(ofChannel: target.stream),
            let column = stream.columns.first(where: { $0.name == target.column })
        else { return nil }
        return (stream, column)
    }

    /// Returns a name with small letters, and `_` for each character that the name of a stream cannot contain.
    static func streamName(_ metric: String) -> String {
        String(
            String.UnicodeScalarView(
                metric.unicodeScalars.map { scalar in
                    switch scalar {
                    case "a"..."z", "0"..."9", "_", "/": scalar
                    case "A"..."Z": Unicode.Scalar(UInt8(scalar.value) + 32)
                    default: "_"
                    }
                }))
    }
}
