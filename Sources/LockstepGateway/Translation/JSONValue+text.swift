public import LockstepModel

/// Numbers that a sender wrote as texts, such as `"21.5"`.
extension JSONValue {
    /// The value of a number, also of one that is written as a text; nil for anything else, such as `"unavailable"`.
    public var readableNumber: Double? {
        guard case .string(let text) = self else { return number }
        return Self.decimal(text).flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }

    /// The value of a whole number, also of one that is written as a text; nil for anything else.
    public var readableInteger: Int64? {
        guard case .string(let text) = self else { return integer }
        guard let digits = Self.decimal(text) else { return nil }
        return Int64(digits) ?? Double(digits).flatMap { Int64(exactly: $0) }
    }

    /// The value as a log entry shows it: at most 40 characters.
    public var excerpt: String {
        switch self {
        case .null: "null"
        case .bool(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .string(let text): text.count > 40 ? "'\(text.prefix(40))…'" : "'\(text)'"
        case .array: "a list"
        case .object: "an object"
        }
    }

    /// Returns a decimal number without the spaces around it. A comma is not read: it divides either thousands or the
    /// fraction.
    private static func decimal(_ text: String) -> String? {
        let bytes = text.utf8.drop { $0 == 0x20 }
        guard let end = bytes.lastIndex(where: { $0 != 0x20 }) else { return nil }
        let digits = bytes[...end]
        guard digits.count <= 64,
            digits.allSatisfy({ ("0"..."9").contains(Unicode.Scalar($0)) || "+-.eE".utf8.contains($0) })
        else { return nil }
        return String(digits)
    }
}
