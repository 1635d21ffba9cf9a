import LockstepModel
import LockstepWire

/// Reads SenML in CBOR (RFC 8428, section 6) as the same values that SenML in JSON has.
struct SenMLCBOR {
    private static let maxDepth = 16
    /// The names of the labels in JSON.
    private static let labels: [Int64: String] = [
        -1: "bver", -2: "bn", -3: "bt", -4: "bu", -5: "bv", -6: "bs", 0: "n", 1: "u", 2: "v", 3: "vs", 4: "vb", 5: "s",
        6: "t", 7: "ut", 8: "vd",
    ]

    private var reader: CBORReader

    /// - Throws: ``Refusal`` of kind `malformed`.
    static func parse(_ bytes: [UInt8]) throws(Refusal) -> JSONValue {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(PayloadError) in
                var pack = SenMLCBOR(reader: CBORReader(buffer, acceptsAnyForm: true))
                guard let value = try pack.value(depth: 0) else { throw pack.invalid("no value") }
                guard pack.reader.isAtEnd else { throw pack.invalid("bytes after the pack") }
                return value
            }
        }
        do { return try result.get() } catch { throw Refusal(.malformed, error.description) }
    }

    private func invalid(_ reason: String) -> PayloadError {
        PayloadError("invalid CBOR: \(reason) at byte \(reader.offset)")
    }

    /// Returns the next value, or nil at the end of an array or map of indefinite length.
    private mutating func value(depth: Int) throws(PayloadError) -> JSONValue? {
        guard depth < Self.maxDepth else { throw invalid("nested more than \(Self.maxDepth) levels deep") }
        switch try reader.next() {
        case .integer(let number): return .integer(number)
        // As in JSON, a number that is not finite is a text, which costs only its record.
        case .float(let number): return number.isFinite ? .real(number) : .string("\(number)")
        case .bool(let flag): return .bool(flag)
        case .null, .bytes: return .null
        case .text(let range): return .string(reader.text(range))
        case .array(let count): return .array(try items(count, depth: depth))
        case .map(let count): return .object(try members(count, depth: depth))
        case .tag(let tag):
            guard let content = try value(depth: depth + 1) else { throw invalid("a tag without a value") }
            return tag == 4 ? try decimalFraction(content) : content
        case .indefinite(.array): return .array(try items(nil, depth: depth))
        case .indefinite(.map): return .object(try members(nil, depth: depth))
        case .indefinite(let major): return try chunks(of: major)
        case .end: return nil
        }
    }

    /// Returns the text, or null for bytes, of a string in chunks.
    private mutating func chunks(of major: CBORMajor) throws(PayloadError) -> JSONValue {
        var text = ""
        while true {
            switch (try reader.next(), major) {
            case (.text(let range), .text): text += reader.text(range)
            case (.bytes, .bytes): break
            case (.end, _): return major == .text ? .string(text) : .null
            default: throw invalid("a wrong chunk")
            }
        }
    }

    /// - Parameter count: the number of items, or nil for an indefinite length.
    private mutating func items(_ count: Int?, depth: Int) throws(PayloadError) -> [JSONValue] {
        var items: [JSONValue] = []
        while items.count != count {
            guard let item = try value(depth: depth + 1) else {
                guard count == nil else { throw invalid("an early end") }
                break
            }
            items.append(item)
        }
        return items
    }

    private mutating func members(_ count: Int?, depth: Int) throws(PayloadError) -> [String: JSONValue] {
        // A map is a list of keys and values.
        let items = try items(count.map { 2 * $0 }, depth: depth)
        guard items.count % 2 == 0 else { throw invalid("a label without a value") }
        var members: [String: JSONValue] = [:]
        for index in stride(from: 0, to: items.count, by: 2) {
            switch items[index] {
            case .integer(let label): members[Self.labels[label] ?? "#\(label)"] = items[index + 1]
            case .string(let text): members[text] = items[index + 1]
            default: throw invalid("a label that is neither a number nor a text")
            }
        }
        return members
    }

    /// Returns the number m · 10ᵉ of a decimal fraction [e, m].
    private func decimalFraction(_ content: JSONValue) throws(PayloadError) -> JSONValue {
        guard let parts = content.array, parts.count == 2, let exponent = parts[0].integer,
            (-400...400).contains(exponent),
            let mantissa = parts[1].integer, let number = Double("\(mantissa)e\(exponent)"), number.isFinite
        else { throw invalid("a wrong decimal fraction") }
        return .real(number)
    }
}
