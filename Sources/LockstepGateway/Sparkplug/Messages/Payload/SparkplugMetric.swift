/// A metric of a payload.
public struct SparkplugMetric: Sendable, Hashable {
    /// The name; nil if the alias stands for it.
    public var name: String?
    /// The number that the birth message gave to the name; nil if the node uses no aliases.
    public var alias: UInt64?
    /// The time of the value in ms since 1970.
    public var time: Int64?
    /// The type of the value. Only birth messages must have it.
    public var kind: SparkplugKind?
    /// Whether the value is an old one, which does not replace the current one.
    public var isHistorical: Bool
    /// The value; nil if it is null.
    public var value: SparkplugRawValue?

    /// Creates a metric.
    public init(
        name: String? = nil, alias: UInt64? = nil, time: Int64? = nil, kind: SparkplugKind? = nil,
        isHistorical: Bool = false, value: SparkplugRawValue?
    ) {
        self.name = name
        self.alias = alias
        self.time = time
        self.kind = kind
        self.isHistorical = isHistorical
        self.value = value
    }
}

extension SparkplugMetric {
    /// The name of the metric that births and deaths share.
    public static let deathNumberName = "bdSeq"
    /// The name of the metric that asks a node for new birth messages.
    public static let rebirthName = "Node Control/Rebirth"

    /// Returns the metric that births and deaths share.
    /// - Parameter time: ms since 1970; a death has none.
    public static func deathNumber(_ number: Int64, time: Int64? = nil) -> SparkplugMetric {
        SparkplugMetric(
            name: deathNumberName, time: time, kind: .int64, value: .whole(UInt64(bitPattern: number)))
    }

    /// Returns the metric `Node Control/Rebirth`.
    /// - Parameters:
    ///   - isRequested: false in a birth message, true in a request.
    ///   - time: ms since 1970.
    public static func rebirth(_ isRequested: Bool, time: Int64) -> SparkplugMetric {
        SparkplugMetric(name: rebirthName, time: time, kind: .boolean, value: .truth(isRequested))
    }
}

extension SparkplugMetric {
    init(_ wire: WireMetric) {
        name = wire.hasName ? wire.name : nil
        alias = wire.hasAlias ? wire.alias : nil
        // A time beyond the range must not be taken for no time.
        time = wire.hasTime ? Int64(clamping: wire.time) : nil
        kind = wire.hasKind ? SparkplugKind(rawValue: wire.kind) : nil
        isHistorical = wire.isHistorical
        value =
            switch wire.value {
            case nil: nil
            case _ where wire.isNull: nil
            case .whole(let bits): .whole(UInt64(bits))
            case .longWhole(let bits): .whole(bits)
            case .real(let number): .real(Double(number))
            case .longReal(let number): .real(number)
            case .truth(let truth): .truth(truth)
            case .text(let text): .text(text)
            case .blob, .table, .form, .other: .opaque
            }
    }

    /// The encoded form. The value of a type with at most 32 bits has the short field.
    var wire: WireMetric {
        var wire = WireMetric()
        if let name { wire.name = name }
        if let alias { wire.alias = alias }
        if let time { wire.time = UInt64(clamping: time) }
        if let kind { wire.kind = kind.rawValue }
        if isHistorical { wire.isHistorical = true }
        switch value {
        case nil, .opaque: wire.isNull = true
        case .whole(let bits):
            wire.value = isShort ? .whole(UInt32(truncatingIfNeeded: bits)) : .longWhole(bits)
        case .real(let number): wire.value = kind?.rawValue == 9 ? .real(Float(number)) : .longReal(number)
        case .truth(let truth): wire.value = .truth(truth)
        case .text(let text): wire.value = .text(text)
        }
        return wire
    }

    private var isShort: Bool { kind.map { [1, 2, 3, 5, 6].contains($0.rawValue) } ?? false }
}
