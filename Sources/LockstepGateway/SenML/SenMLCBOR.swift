/// Reads SenML in CBOR (RFC 8428, section 6) as the same values that SenML in JSON has.
///
/// Implemented here because the strict reader of Lockstep's own batches refuses indefinite lengths and decimal
/// fractions, which SenML allows.
struct SenMLCBOR {
    private static let maxDepth = 16
    /// The names of the labels in JSON.
    private static let labels: [Int64: String] = [
        -1: "bver", -2: "bn", -3: "bt", -4: "bu", -5: "bv", -6: "bs", 0: "n", 1: "u", 2: "v", 3: "vs", 4: "vb", 5: "s",
        6: "t", 7: "ut", 8: "vd",
    ]

    private let bytes: [UInt8]
    private var offset = 0

    /// - Throws: ``Refusal`` of kind `malformed`.
    static func parse(_ bytes: [UInt8]) throws(Refusal) -> JSONValue {
        var reader = SenMLCBOR(bytes: bytes)
        let value = try reader.value(depth: 0)
        guard reader.offset == bytes.count else { throw reader.invalid("bytes after the pack") }
        return value
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private func invalid(_ reason: String) -> Refusal {
        Refusal(.malformed, "invalid CBOR: \(reason) at byte \(offset)")
    }

    private mutating func byte() throws(Refusal) -> UInt8 {
        guard offset < bytes.count else { throw invalid("the end of the message") }
        defer { offset += 1 }
        return bytes[offset]
    }

    private mutating func big(_ count: Int) throws(Refusal) -> UInt64 {
        var value: UInt64 = 0
        for _ in 0..<count { value = value << 8 | UInt64(try byte()) }
        return value
    }

    /// Returns the argument of a head; nil for an indefinite length.
    private mutating func argument(_ info: UInt8) throws(Refusal) -> UInt64? {
        switch info {
        case 0..<24: UInt64(info)
        case 24: try big(1)
        case 25: try big(2)
        case 26: try big(4)
        case 27: try big(8)
        case 31: nil
        default: throw invalid("a reserved head")
        }
    }

    private mutating func value(depth: Int) throws(Refusal) -> JSONValue {
        guard depth < Self.maxDepth else { throw invalid("nested more than \(Self.maxDepth) levels deep") }
        let first = try byte()
        if first >> 5 == 7 { return try simple(first) }
        let argument = try argument(first & 0x1f)
        switch first >> 5 {
        case 0, 1:
            guard let argument, let number = Int64(exactly: argument) else { throw invalid("an integer out of range") }
            return .integer(first >> 5 == 0 ? number : ~number)
        case 2:
            _ = try string(argument, major: 2)
            return .null
        case 3:
            guard let text = String(validating: try string(argument, major: 3), as: UTF8.self) else {
                throw invalid("a text that is not UTF-8")
            }
            return .string(text)
        case 4: return .array(try items(argument, depth: depth))
        case 5: return .object(try members(argument, depth: depth))
        default:
            let content = try value(depth: depth + 1)
            return argument == 4 ? try decimalFraction(content) : content
        }
    }

    private mutating func simple(_ first: UInt8) throws(Refusal) -> JSONValue {
        let number: Double
        switch first {
        case 0xf4: return .bool(false)
        case 0xf5: return .bool(true)
        case 0xf6, 0xf7: return .null
        case 0xf9: number = Double(Float16(bitPattern: UInt16(try big(2))))
        case 0xfa: number = Double(Float(bitPattern: UInt32(try big(4))))
        case 0xfb: number = Double(bitPattern: try big(8))
        default: throw invalid("an unknown simple value")
        }
        guard number.isFinite else { throw invalid("a number that is not finite") }
        return .real(number)
    }

    private mutating func string(_ length: UInt64?, major: UInt8) throws(Refusal) -> ArraySlice<UInt8> {
        guard let length else {
            var content: [UInt8] = []
            while try !skipBreak() {
                let first = try byte()
                guard first >> 5 == major, let part = try argument(first & 0x1f) else { throw invalid("a wrong chunk") }
                content += try string(part, major: major)
            }
            return content[...]
        }
        guard let count = Int(exactly: length), count <= bytes.count - offset else {
            throw invalid("a length beyond the end")
        }
        defer { offset += count }
        return bytes[offset..<offset + count]
    }

    private mutating func skipBreak() throws(Refusal) -> Bool {
        guard offset < bytes.count else { throw invalid("the end of the message") }
        guard bytes[offset] == 0xff else { return false }
        offset += 1
        return true
    }

    /// Whether another item follows in an array or map.
    private mutating func hasNext(_ remaining: inout UInt64?) throws(Refusal) -> Bool {
        guard let count = remaining else { return try !skipBreak() }
        guard count > 0 else { return false }
        // Each item takes at least a byte, so a huge count cannot reserve memory.
        guard count <= UInt64(bytes.count - offset) else { throw invalid("a length beyond the end") }
        remaining = count - 1
        return true
    }

    private mutating func items(_ count: UInt64?, depth: Int) throws(Refusal) -> [JSONValue] {
        var items: [JSONValue] = []
        var remaining = count
        while try hasNext(&remaining) { items.append(try value(depth: depth + 1)) }
        return items
    }

    private mutating func members(_ count: UInt64?, depth: Int) throws(Refusal) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        var remaining = count
        while try hasNext(&remaining) {
            let name: String
            switch try value(depth: depth + 1) {
            case .integer(let label): name = Self.labels[label] ?? "#\(label)"
            case .string(let text): name = text
            default: throw invalid("a label that is neither a number nor a text")
            }
            members[name] = try value(depth: depth + 1)
        }
        return members
    }

    /// Returns the number m · 10ᵉ of a decimal fraction [e, m].
    private func decimalFraction(_ content: JSONValue) throws(Refusal) -> JSONValue {
        guard let parts = content.array, parts.count == 2, let exponent = parts[0].integer,
            (-400...400).contains(exponent),
            let mantissa = parts[1].integer, let number = Double("\(mantissa)e\(exponent)"), number.isFinite
        else { throw invalid("a wrong decimal fraction") }
        return .real(number)
    }
}
