/// Writes metrics in the text format of Prometheus, version 0.0.4.
///
/// <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
struct MetricsWriter {
    /// The type of a metric.
    enum Kind: String {
        case counter, gauge, summary
    }

    /// The labels of a sample: names and values.
    typealias Labels = [(name: String, value: String)]

    /// The samples of one metric.
    struct Metric {
        fileprivate let name: String
        fileprivate var lines = ""

        /// Adds a sample. A nil value is unknown and adds nothing.
        /// - Parameter suffix: a suffix of the name, such as `_sum` of a summary.
        mutating func sample(_ value: Double?, _ labels: Labels = [], suffix: String = "") {
            guard let value else { return }
            add(labels, suffix: suffix, MetricsWriter.number(value))
        }

        /// Adds a sample with a whole number. A nil value is unknown and adds nothing.
        mutating func count(_ value: (some BinaryInteger)?, _ labels: Labels = [], suffix: String = "") {
            guard let value else { return }
            add(labels, suffix: suffix, String(value))
        }

        /// Adds a sample with the value 1 or 0. A nil value is unknown and adds nothing.
        mutating func flag(_ value: Bool?, _ labels: Labels = []) {
            guard let value else { return }
            add(labels, suffix: "", value ? "1" : "0")
        }

        private mutating func add(_ labels: Labels, suffix: String, _ value: String) {
            lines += name
            lines += suffix
            for (index, label) in labels.enumerated() {
                lines += index == 0 ? "{" : ","
                lines += label.name
                lines += "=\""
                lines += MetricsWriter.escaped(label.value, quote: true)
                lines += "\""
            }
            lines += labels.isEmpty ? " " : "} "
            lines += value
            lines += "\n"
        }
    }

    /// The text written so far.
    private(set) var text = ""

    /// Writes a metric with all its samples, which the format requires to be together. Without samples, nothing is written.
    mutating func metric(_ name: String, _ kind: Kind, _ help: String, samples: (inout Metric) -> Void) {
        var metric = Metric(name: name)
        samples(&metric)
        guard !metric.lines.isEmpty else { return }
        text += "# HELP \(name) \(Self.escaped(help, quote: false))\n# TYPE \(name) \(kind.rawValue)\n"
        text += metric.lines
    }

    /// Returns the text with backslashes, line feeds and, in the value of a label, double quotes escaped.
    static func escaped(_ text: String, quote: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || ($0 == 0x22 && quote) }) else { return text }
        var escaped = ""
        // By scalars: a carriage return and a line feed are a single character.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quote: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Returns a number in the form that Go parses.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return "\(value)"
    }
}
