public import LockstepModel

/// JSON that foreign devices send: with words for numbers that are not finite, and perhaps with large texts.
package enum ForeignJSON {
    /// - Throws: ``Refusal`` of kind `malformed`.
    package static func parse(_ bytes: [UInt8]) throws(Refusal) -> JSONValue {
        try parse(bytes, skippingTextsAbove: .max, limit: .max).value
    }

    /// Parses a message, and replaces large strings and lists of numbers in it by empty ones.
    /// - Parameters:
    ///   - maxText: the size of the largest one that is kept, in bytes.
    ///   - limit: the maximum size of all that is kept, in bytes.
    /// - Returns: the value, and the size of what was skipped.
    /// - Throws: ``Refusal`` of kind `malformed`.
    static func parse(
        _ bytes: [UInt8], skippingTextsAbove maxText: Int, limit: Int
    ) throws(Refusal) -> (value: JSONValue, skipped: Int) {
        var options = JSONParser.Options()
        options.acceptsNotFinite = true
        options.maxText = maxText
        options.limit = limit
        do { return try JSONParser.parse(bytes, options) } catch { throw Refusal(.malformed, error.description) }
    }
}

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

/// Reads the members of an object of a foreign message. A member that cannot be read is unknown, and noted as left out; a
/// missing member and `null` are only unknown.
struct FieldReader {
    private let object: JSONValue
    /// What the object is, for log entries, such as "the location".
    private let subject: String
    /// The members that were left out.
    private(set) var omissions: [String] = []

    init(_ object: JSONValue, _ subject: String) {
        self.object = object
        self.subject = subject
    }

    /// Returns a number, or nil if it is unknown or out of range.
    mutating func number(_ name: String, in range: ClosedRange<Double>? = nil) -> Double? {
        guard let value = object[name], value != .null else { return nil }
        guard let number = value.readableNumber else {
            omissions.append("'\(name)' of \(subject) is \(value.excerpt), which is no number")
            return nil
        }
        guard range?.contains(number) ?? true else {
            omissions.append("'\(name)' of \(subject) is \(value.excerpt), which is out of range")
            return nil
        }
        return number
    }

    /// Returns a number of which negative values mean that it is unknown.
    mutating func notNegative(_ name: String, atMost limit: Double = .infinity) -> Double? {
        if let number = object[name]?.readableNumber, number < 0 { return nil }
        return number(name, in: 0...limit)
    }

    /// Returns the number of items of a list, or nil if it is unknown.
    mutating func count(_ name: String) -> Double? {
        guard let value = object[name], value != .null else { return nil }
        guard let items = value.array else {
            omissions.append("'\(name)' of \(subject) is \(value.excerpt), which is no list")
            return nil
        }
        return Double(items.count)
    }

    /// Returns a time in µs since 1970, or nil if it is unknown.
    mutating func time(_ name: String, in unit: TimeUnit) -> Int64? {
        do { return try unit.microseconds(of: object[name]) } catch {
            if error != .missing { omissions.append(error.text("'\(name)' of \(subject)")) }
            return nil
        }
    }

    /// Returns a text that has one of some values, or nil if it is unknown.
    mutating func word(_ name: String, of words: [String: String]) -> String? {
        guard let value = object[name], value != .null else { return nil }
        guard let word = value.string.flatMap({ words[$0] ?? words[$0.lowercased()] }) else {
            omissions.append("'\(name)' of \(subject) is \(value.excerpt), which is unknown")
            return nil
        }
        return word
    }
}

/// The reason why a value of a message is no time.
enum TimeProblem: Error, Hashable {
    case missing
    /// The value is neither a number, nor a number or a date as a text.
    case unreadable(String)
    /// The time is outside of what a timestamp can be.
    case outOfRange(String, TimeUnit)
    /// The value is a date of this century in another unit, but not in that of the format.
    case otherUnit(String, expected: TimeUnit, likely: TimeUnit)

    /// Returns a sentence for a log entry.
    /// - Parameter place: the field.
    func text(_ place: String) -> String {
        switch self {
        case .missing: "\(place) is missing"
        case .unreadable(let value): "\(place) is \(value), which is no time"
        case .outOfRange(let value, let unit): "\(place) is \(value), which is out of range in \(unit.rawValue)"
        case .otherUnit(let value, let expected, let likely):
            "\(place) is \(value), which is no plausible time in \(expected.rawValue), but one in \(likely.rawValue)"
        }
    }
}

extension TimeUnit {
    /// Returns the time of a field in µs since 1970. Numbers may have a fraction and may be texts. A text with a date and
    /// time in ISO 8601 is read whatever the unit.
    func microseconds(of value: JSONValue?) throws(TimeProblem) -> Int64 {
        guard let value, value != .null else { throw .missing }
        let number: Double
        let time: Int64?
        if let whole = value.readableInteger {
            (number, time) = (Double(whole), microseconds(whole))
        } else if let real = value.readableNumber {
            (number, time) = (real, microseconds(real))
        } else {
            guard let text = value.string, text.utf8.count <= 64, let date = Timestamp(text) else {
                throw .unreadable(value.excerpt)
            }
            return date.microseconds
        }
        let isPlausible = time.map(TimeUnit.plausibleTimes.contains) ?? false
        if !isPlausible, let likely = TimeUnit.plausible(number) {
            throw .otherUnit(value.excerpt, expected: self, likely: likely)
        }
        guard let time else {
            if self == .iso { throw .unreadable(value.excerpt) }
            throw .outOfRange(value.excerpt, self)
        }
        return time
    }

    /// Returns a number in µs; nil if there is none, or if it is out of range.
    func microseconds(ofNumber value: JSONValue?) -> Int64? {
        switch value {
        case .integer(let number): microseconds(number)
        case .real(let number): microseconds(number)
        default: nil
        }
    }
}
