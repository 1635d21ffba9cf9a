/// A JSON value. A whole number keeps all 64 bits: nanoseconds since 1970 do not fit into a double.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number, which is finite.
    case real(Double)
    case string(String)
    case array([JSONValue])
    /// An object. Of members with the same name, the last one counts.
    case object([String: JSONValue])

    /// The member with this name of an object, or nil.
    public subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The text of a string, or nil.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The items of an array, or nil.
    public var array: [JSONValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    /// The value of a number, or nil.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }

    /// The value of a whole number, or nil. A number such as `1.0` or `1e3` is also whole.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .real(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The value of a Boolean, or nil.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
}
