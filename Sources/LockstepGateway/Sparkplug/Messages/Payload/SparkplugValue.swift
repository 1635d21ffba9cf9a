/// The value of a metric as it is encoded. Its meaning depends on the ``SparkplugKind``, which only the birth message
/// may have.
public enum SparkplugRawValue: Sendable, Hashable {
    /// A whole number with up to 64 bits; negative ones in two's complement.
    case whole(UInt64)
    /// A number with a fraction.
    case real(Double)
    /// A boolean.
    case truth(Bool)
    /// A text.
    case text(String)
    /// Bytes, a data set, a template or an extension, none of which Lockstep reads.
    case opaque
}

/// The value of a metric.
public enum SparkplugValue: Sendable, Hashable {
    /// A number, also of a boolean, as 0 or 1.
    case number(Double)
    /// A text.
    case text(String)
}

/// The data type of a metric (Sparkplug 3.0, section 6.4.16).
public struct SparkplugKind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number of the type in payloads.
    public let rawValue: UInt32

    /// Creates a type. It may be one that Lockstep does not know.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A whole number with a sign and 64 bits.
    public static let int64 = SparkplugKind(rawValue: 4)
    /// A floating-point number with 64 bits.
    public static let double = SparkplugKind(rawValue: 10)
    /// True or false.
    public static let boolean = SparkplugKind(rawValue: 11)
    /// A text.
    public static let string = SparkplugKind(rawValue: 12)

    /// The names by number, from 0.
    private static let names = [
        "Unknown", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Double",
        "Boolean", "String", "DateTime", "Text", "UUID", "DataSet", "Bytes", "File", "Template", "PropertySet",
        "PropertySetList", "Int8Array", "Int16Array", "Int32Array", "Int64Array", "UInt8Array", "UInt16Array",
        "UInt32Array", "UInt64Array", "FloatArray", "DoubleArray", "BooleanArray", "StringArray", "DateTimeArray",
    ]

    /// The name of the type in the specification.
    public var description: String {
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : "type \(rawValue)"
    }

    /// Returns the value that `raw` has in a metric of this type.
    ///
    /// Encoders differ in the field that they use for a number, and in whether they extend the sign of a short one. So
    /// each integer type reads both fields, and only as many bits as it has.
    /// - Returns: nil for types that have no single number or text, and for values that do not match the type.
    public func value(of raw: SparkplugRawValue) -> SparkplugValue? {
        switch (rawValue, raw) {
        case (1, .whole(let bits)): .number(Double(Int8(truncatingIfNeeded: bits)))
        case (2, .whole(let bits)): .number(Double(Int16(truncatingIfNeeded: bits)))
        case (3, .whole(let bits)): .number(Double(Int32(truncatingIfNeeded: bits)))
        case (4, .whole(let bits)): .number(Double(Int64(bitPattern: bits)))
        case (5, .whole(let bits)): .number(Double(UInt8(truncatingIfNeeded: bits)))
        case (6, .whole(let bits)): .number(Double(UInt16(truncatingIfNeeded: bits)))
        case (7, .whole(let bits)): .number(Double(UInt32(truncatingIfNeeded: bits)))
        case (8, .whole(let bits)), (13, .whole(let bits)): .number(Double(bits))
        case (9, .real(let number)), (10, .real(let number)): .number(number)
        case (11, .truth(let truth)): .number(truth ? 1 : 0)
        case (12, .text(let text)), (14, .text(let text)), (15, .text(let text)): .text(text)
        default: nil
        }
    }

    /// Whether ``value(of:)`` can read the values of this type.
    public var isReadable: Bool { (1...15).contains(rawValue) }
}
