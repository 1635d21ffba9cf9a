extension String {
    /// Returns the text with another text in place of some ASCII characters.
    ///
    /// `replacing(_:with:)` compares whole characters, so that it does not find a quotation mark that is followed by a
    /// combining mark. For a database or a browser it is a quotation mark nevertheless.
    package func escaping(_ escapes: [Unicode.Scalar: String]) -> String {
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            if let escape = escapes[scalar] { result += escape } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }

    /// The text as a field of CSV (RFC 4180).
    package var csvField: String {
        guard utf8.contains(where: { ",\"\n\r".utf8.contains($0) }) else { return self }
        return "\"" + escaping(["\"": "\"\""]) + "\""
    }

    /// The text as the content of a JSON string (RFC 8259).
    package var jsonText: String {
        // Most texts are names.
        guard utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
            return self
        }
        return escaping(Self.jsonEscapes)
    }

    /// What a JSON string has in place of characters that it must not contain.
    package static let jsonEscapes: [Unicode.Scalar: String] = {
        var escapes: [Unicode.Scalar: String] = ["\"": "\\\"", "\\": "\\\\"]
        for byte in UInt8(0)..<0x20 { escapes[Unicode.Scalar(byte)] = "\\u00" + [byte].hexadecimal }
        return escapes
    }()
}

extension UInt8 {
    /// Whether the byte is a letter or digit of ASCII.
    package var isASCIIAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits, two for each.
    package var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

/// Returns a count with its noun, such as `1 batch` or `12 batches`.
/// - Parameters:
///   - singular: the noun for a count of one.
///   - plural: the noun for any other count; nil for the singular with an `s`.
package func counted(_ count: some BinaryInteger, _ singular: String, _ plural: String? = nil) -> String {
    "\(count) \(count == 1 ? singular : plural ?? singular + "s")"
}
