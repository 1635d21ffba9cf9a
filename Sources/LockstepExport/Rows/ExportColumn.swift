public import LockstepModel

/// A column of exported rows.
public struct ExportColumn: Hashable, Sendable {
    /// The name.
    public let name: String
    /// The kind of the values.
    public let kind: SensorStream.Kind

    /// Creates a column.
    public init(name: String, kind: SensorStream.Kind) {
        self.name = name
        self.kind = kind
    }

    /// Creates a column with the name and kind of a stream's column.
    public init(_ column: SensorStream.Column) { self.init(name: column.name, kind: column.kind) }
}

extension OutputBuffer {
    /// Appends a value as in CSV, or nothing if it is unknown.
    mutating func append(csv value: Double, _ kind: SensorStream.Kind) {
        if value.isFinite { append(value, kind, quote: "", escape: OutputBuffer.csvField) }
    }

    /// Appends a value as in JSON, or null if it is unknown.
    mutating func append(json value: Double, _ kind: SensorStream.Kind) {
        if value.isFinite {
            append(value, kind, quote: "\"", escape: OutputBuffer.jsonText)
        } else {
            append("null")
        }
    }

    private mutating func append(
        _ value: Double, _ kind: SensorStream.Kind, quote: String, escape: (String) -> String
    ) {
        switch kind {
        case .real: append(value.description)
        case .integer:
            // SQLite does not enforce types, so other programs may have stored fractions.
            if let number = Int64(exactly: value) { append(number) } else { append(value.description) }
        case .choice(let words): append(quote + escape(words[Int(value)]) + quote)
        }
    }

    /// Returns a text as a field of CSV (RFC 4180).
    static func csvField(_ text: String) -> String {
        guard text.utf8.contains(where: { ",\"\n\r".utf8.contains($0) }) else { return text }
        return "\"" + text.escaping(["\"": "\"\""]) + "\""
    }

    /// Returns a text as the content of a JSON string (RFC 8259).
    static func jsonText(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
            return text
        }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
