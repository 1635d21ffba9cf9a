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
        // Whole numbers beyond the range of Int64 are real numbers, and are rounded: the next ones below it to -2⁶³.
        case .real(let value): value == -0x1p63 ? nil : Int64(exactly: value)
        default: nil
        }
    }

    /// The value of a Boolean, or nil.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
}

/// An error in a JSON text.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason.
    public let description: String

    /// Creates an error.
    public init(_ description: String) { self.description = description }
}

/// A strict parser of JSON (RFC 8259) with limits for hostile input.
///
/// Inside of an array or object, a number that is too large for a double is read as text, and half a surrogate pair as
/// U+FFFD, so that a member that nobody reads does no harm.
///
/// Implemented here because Foundation's decoder converts whole numbers of more than 53 bits to doubles for a value of
/// unknown type, and throws an error for each type it tries.
public struct JSONParser {
    /// The maximum depth of nested arrays and objects.
    public static let maxDepth = 32

    /// What a parser accepts, and what it leaves out.
    public struct Options: Sendable {
        /// Whether the words that senders write for a number that is not finite, such as `NaN` and `-Infinity`, are read as
        /// texts in an array or object: only the member that has one is lost.
        public var acceptsNotFinite = false
        /// The size of the largest string, and of the largest array without objects, that is kept, in bytes. A larger one is
        /// replaced by an empty one.
        public var maxText = Int.max
        /// The maximum size of all that is kept, in bytes.
        public var limit = Int.max

        /// Creates the options of the strict form.
        public init() {}
    }

    private let bytes: UnsafeRawBufferPointer
    private let options: Options
    private var offset = 0
    private var skipped = 0

    /// Parses a text.
    public static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue { try parse(bytes, Options()).value }

    /// Parses a text.
    /// - Returns: the value, and the size of the strings and arrays that were skipped.
    public static func parse(
        _ bytes: [UInt8], _ options: Options
    ) throws(JSONError) -> (value: JSONValue, skipped: Int) {
        try bytes.withUnsafeBytes { buffer in
            Result { () throws(JSONError) in try parse(buffer, options) }
        }.get()
    }

    /// Parses a text, whose bytes only have to be valid during the call.
    /// - Returns: the value, and the size of the strings and arrays that were skipped.
    public static func parse(
        _ bytes: UnsafeRawBufferPointer, _ options: Options = Options()
    ) throws(JSONError) -> (value: JSONValue, skipped: Int) {
        var parser = JSONParser(bytes: bytes, options: options)
        return (value: try parser.parseDocument(), skipped: parser.skipped)
    }

    private init(bytes: UnsafeRawBufferPointer, options: Options) {
        self.bytes = bytes
        self.options = options
    }

    private mutating func parseDocument() throws(JSONError) -> JSONValue {
        // A byte order mark is not allowed, but RFC 8259 lets parsers ignore it.
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { offset = 3 }
        let value = try value(depth: 0)
        skipSpace()
        guard offset == bytes.count else { throw invalid("text after the value") }
        return value
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { offset += 1 }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private func invalid(_ reason: String) -> JSONError {
        JSONError("invalid JSON: \(reason) at byte \(offset)")
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < Self.maxDepth else { throw invalid("nested more than \(Self.maxDepth) levels deep") }
        skipSpace()
        guard offset - skipped <= options.limit else {
            throw JSONError("the message has more than \(options.limit) bytes without its large texts and lists")
        }
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""):
            let start = offset
            let text = try string()
            guard offset - start > options.maxText else { return .string(text) }
            skipped += offset - start
            return .string("")
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n") where !options.acceptsNotFinite || !isWord("nan"): return try literal("null", .null)
        default:
            if let word = notFinite(depth: depth) { return word }
            return try number(depth: depth)
        }
    }

    private func isWord(_ word: String) -> Bool { bytes[offset...].starts(with: word.utf8) }

    private mutating func notFinite(depth: Int) -> JSONValue? {
        for word in Self.notFiniteWords where options.acceptsNotFinite && depth > 0 && isWord(word) {
            offset += word.utf8.count
            return .string(word)
        }
        return nil
    }

    private static let notFiniteWords = [
        "NaN", "-NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "-inf",
    ]

    private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let expected = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[offset...].starts(with: expected) else { throw invalid("an unknown word") }
        offset += expected.count
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        offset += 1
        var members: [String: JSONValue] = [:]
        skipSpace()
        if skip("}") { return .object(members) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw invalid("no name of a member") }
            let name = try string()
            skipSpace()
            guard skip(":") else { throw invalid("no colon") }
            members[name] = try value(depth: depth + 1)
            skipSpace()
            if skip("}") { return .object(members) }
            guard skip(",") else { throw invalid("no comma") }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        let start = offset
        let earlier = skipped
        offset += 1
        var items: [JSONValue] = []
        var hasObject = false
        var isLarge = false
        skipSpace()
        if skip("]") { return .array(items) }
        while true {
            let item = try value(depth: depth + 1)
            if case .object = item { hasObject = true }
            isLarge = isLarge || !hasObject && offset - start - (skipped - earlier) > options.maxText
            if isLarge {
                items = []
                skipped = earlier + offset - start
            } else {
                items.append(item)
            }
            skipSpace()
            if skip("]") { return .array(items) }
            guard skip(",") else { throw invalid("no comma") }
        }
    }

    private mutating func string() throws(JSONError) -> String {
        offset += 1
        let start = offset
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
            guard byte >= 0x20 else { throw invalid("a control character in a string") }
            offset += 1
        }
        guard next == UInt8(ascii: "\"") else { return try escapedString(from: start) }
        defer { offset += 1 }
        return try text(bytes[start..<offset])
    }

    private func text(_ bytes: some Collection<UInt8>) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw invalid("a string that is not UTF-8") }
        return text
    }

    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var content = Array(bytes[start..<offset])
        while let byte = next {
            offset += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(content)
            case UInt8(ascii: "\\"): try escape(into: &content)
            case 0..<0x20: throw invalid("a control character in a string")
            default: content.append(byte)
            }
        }
        throw invalid("a string without an end")
    }

    private mutating func escape(into content: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw invalid("a string without an end") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
        case UInt8(ascii: "b"): content.append(0x08)
        case UInt8(ascii: "f"): content.append(0x0c)
        case UInt8(ascii: "n"): content.append(0x0a)
        case UInt8(ascii: "r"): content.append(0x0d)
        case UInt8(ascii: "t"): content.append(0x09)
        case UInt8(ascii: "u"):
            var code = UInt32(try hexadecimal())
            if (0xd800..<0xdc00).contains(code), bytes[offset...].starts(with: "\\u".utf8) {
                let afterHigh = offset
                offset += 2
                let low = UInt32(try hexadecimal())
                if (0xdc00..<0xe000).contains(low) {
                    code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
                } else {
                    offset = afterHigh
                }
            }
            content.append(contentsOf: String(Character(Unicode.Scalar(code) ?? "\u{FFFD}")).utf8)
        default: throw invalid("an unknown escape")
        }
    }

    private mutating func hexadecimal() throws(JSONError) -> UInt16 {
        var code: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw invalid("an invalid escape")
            }
            code = code << 4 | UInt16(digit)
            offset += 1
        }
        return code
    }

    private mutating func number(depth: Int) throws(JSONError) -> JSONValue {
        let start = offset
        var isWhole = true
        _ = skip("-")
        if skip("0") {
            if let byte = next, isDigit(byte) { throw invalid("a number with a leading zero") }
        } else {
            try digits()
        }
        if skip(".") {
            isWhole = false
            try digits()
        }
        if skip("e") || skip("E") {
            isWhole = false
            if !skip("+") { _ = skip("-") }
            try digits()
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        // Negative zero is a number with a fraction, which keeps its sign.
        if isWhole, let value = Int64(text), value != 0 || text != "-0" { return .integer(value) }
        guard let value = Double(text) else { throw invalid("no number") }
        guard value.isFinite else {
            guard depth > 0 else { throw invalid("a number that is too large") }
            return .string(text)
        }
        return .real(value)
    }

    private mutating func digits() throws(JSONError) {
        guard let byte = next, isDigit(byte) else { throw invalid("no value") }
        while let byte = next, isDigit(byte) { offset += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
