import Logging

/// The text of log events: `event  key=value key="value with spaces"`.
enum LogText {
    /// Returns the event with its metadata, without control characters.
    static func line(_ event: String, _ metadata: Logger.Metadata) -> String {
        let pairs = fields(metadata).map { "\($0.key)=\(quotedIfNeeded($0.value))" }
        return (pairs.isEmpty ? event : "\(event)  \(pairs.joined(separator: " "))").printable
    }

    /// Returns the metadata as text, sorted by key; `error` and `hint`, the longest values, come last.
    ///
    /// The values of a dictionary get keys such as `dictionary.key`. Array elements are separated by commas.
    static func fields(_ metadata: Logger.Metadata) -> [(key: String, value: String)] {
        flattened(metadata, prefix: "").sorted { (rank($0.key), $0.key) < (rank($1.key), $1.key) }
    }

    private static func rank(_ key: String) -> Int { key == "hint" ? 2 : key == "error" ? 1 : 0 }

    private static func flattened(_ metadata: Logger.Metadata, prefix: String) -> [(key: String, value: String)] {
        metadata.flatMap { key, value in
            if case .dictionary(let inner) = value { return flattened(inner, prefix: "\(prefix)\(key).") }
            return [(prefix + key, text(value))]
        }
    }

    private static func text(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .array(let items): items.map(text).joined(separator: ",")
        case .dictionary(let inner): fields(inner).map { "\($0.key)=\($0.value)" }.joined(separator: ",")
        default: value.description
        }
    }

    /// Quotes a value that would otherwise be ambiguous: an empty one, or one with a space, `"` or `=`.
    private static func quotedIfNeeded(_ value: String) -> String {
        let needsQuotes = value.isEmpty || value.contains { $0.isWhitespace || $0 == "\"" || $0 == "=" }
        return needsQuotes ? quoted(value) : value
    }

    /// Returns the value in quotes, escaped as in JSON.
    static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

extension LogHandler {
    /// Returns the metadata of the handler, its provider and the event; if a key occurs more than once, the last value
    /// wins.
    func allMetadata(of event: LogEvent) -> Logger.Metadata {
        metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
    }
}
