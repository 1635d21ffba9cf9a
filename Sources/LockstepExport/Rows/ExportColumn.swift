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
        if value.isFinite { append(value, kind, quote: "", escape: \.csvField) }
    }

    /// Appends a value as in JSON, or null if it is unknown.
    mutating func append(json value: Double, _ kind: SensorStream.Kind) {
        if value.isFinite {
            append(value, kind, quote: "\"", escape: \.jsonText)
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
}
