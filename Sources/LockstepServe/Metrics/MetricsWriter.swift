import LockstepWire

/// Writes metrics in the text format of Prometheus, version 0.0.4.
///
/// <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
struct MetricsWriter {
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
    ///
    /// By the rules for names, those of counters end in `_total`. All others are gauges, unless `isSummary`.
    mutating func metric(_ name: String, isSummary: Bool = false, _ help: String, samples: (inout Metric) -> Void) {
        var metric = Metric(name: name)
        samples(&metric)
        guard !metric.lines.isEmpty else { return }
        let kind = isSummary ? "summary" : name.hasSuffix("_total") ? "counter" : "gauge"
        text += "# HELP \(name) \(Self.escaped(help, quote: false))\n# TYPE \(name) \(kind)\n"
        text += metric.lines
    }

    /// What a metric is about, such as a device, with the labels of its samples.
    typealias Labelled<Source> = (labels: Labels, source: Source)

    /// Writes a metric with a value of each source. A nil value is unknown.
    mutating func value<Source>(
        _ name: String, _ help: String, of sources: [Labelled<Source>], _ value: (Source) -> Double?
    ) {
        metric(name, help) { for (labels, source) in sources { $0.sample(value(source), labels) } }
    }

    /// Writes metrics with a whole number of each source. A nil value is unknown.
    mutating func counts<Source>(
        of sources: [Labelled<Source>], _ table: (name: String, help: String, value: (Source) -> Int?)...
    ) {
        for (name, help, value) in table {
            metric(name, help) { for (labels, source) in sources { $0.count(value(source), labels) } }
        }
    }

    /// Writes when the certificates of programs expire.
    mutating func certificates<Source>(
        _ program: String, of sources: [Labelled<Source>], _ times: (Source) -> CertificateTimes
    ) {
        metric("lockstep_\(program)_certificate_expiry_timestamp_seconds", "End of the validity of a certificate.") {
            for (labels, source) in sources {
                for (use, time) in times(source).sorted(by: { $0.key < $1.key }) {
                    $0.sample(time.seconds, labels + [("certificate", use)])
                }
            }
        }
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
