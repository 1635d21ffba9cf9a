import Glibc
import LockstepModel
public import Logging

/// Writes one line per event to standard error: `TIME  LEVEL  event  key=value …`, or one JSON object.
///
/// Implemented here because swift-log's stream handler does not quote values, does not sort metadata and has no
/// colours.
public struct ConsoleLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var logLevel = Logger.Level.info
    public var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let isJSON: Bool
    private let terminal: Terminal
    private let now: @Sendable () -> String
    private let write: @Sendable (String) -> Void

    /// Creates a handler that writes to standard error.
    /// - Parameters:
    ///   - label: the label of the logger; only JSON contains it.
    ///   - isJSON: whether to write JSON instead of text.
    public init(label: String, isJSON: Bool = false) {
        self.init(label: label, isJSON: isJSON, terminal: .error, now: { wallClockTime() }) { Terminal.writeError($0) }
    }

    /// Creates a handler with another clock and output.
    /// - Parameters:
    ///   - now: returns the time as ISO 8601.
    ///   - write: writes a line; the argument has no newline.
    package init(
        label: String, isJSON: Bool, terminal: Terminal, now: @escaping @Sendable () -> String,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.label = label
        self.isJSON = isJSON
        self.terminal = terminal
        self.now = now
        self.write = write
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let all = allMetadata(of: event)
        write(isJSON ? json(event, all) : text(event, all))
    }

    private func text(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let level = event.level.rawValue
        // The width of "warning", the longest of the frequent levels.
        let padding = String(repeating: " ", count: max(0, 7 - level.count))
        return terminal.styled(now(), .faint) + "  " + terminal.styled(level, event.level.style) + padding + "  "
            + LogText.line(event.message.description, metadata)
    }

    private func json(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let standard = [
            ("time", now()), ("level", event.level.rawValue), ("logger", label), ("event", event.message.description),
        ]
        let members = (standard + LogText.fields(metadata).map { ($0.key, $0.value) }).map { key, value in
            "\(LogText.quoted(key)):\(LogText.quoted(value))"
        }
        return "{\(members.joined(separator: ","))}"
    }
}

extension Logger.Level {
    fileprivate var style: Terminal.Style {
        switch self {
        case .trace, .debug: .faint
        case .info: .green
        case .notice: .blue
        case .warning: .yellow
        case .error, .critical: .red
        }
    }
}

/// Writes one line per event to standard error in the format of the systemd journal: a priority prefix such as `<4>`,
/// and no time, because the journal adds its own. See sd-daemon(3).
///
/// It exists because no available package provides this format.
public struct JournalLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var logLevel = Logger.Level.info
    public var metadataProvider: Logger.MetadataProvider?
    private let write: @Sendable (String) -> Void

    /// Creates a handler that writes to standard error.
    public init() { self.init { Terminal.writeError($0) } }

    /// Creates a handler with another output.
    /// - Parameter write: writes a line; the argument has no newline.
    package init(write: @escaping @Sendable (String) -> Void) { self.write = write }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        // The text must be one line, as LogText ensures: the journal would store a second line as an entry of its own,
        // without a priority.
        write("<\(event.level.priority)>" + LogText.line(event.message.description, allMetadata(of: event)))
    }

    /// Returns whether standard error is connected to the journal.
    ///
    /// systemd sets `JOURNAL_STREAM` to the device and inode of the stream. A process may inherit this variable
    /// although its output was redirected, so device and inode are compared.
    /// - Parameter stream: the value of `JOURNAL_STREAM`.
    public static func isJournal(_ stream: String?) -> Bool {
        guard let stream else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}

extension Logger.Level {
    /// The priority of syslog(3): 7 (debug) to 2 (critical).
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

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
    static func quoted(_ value: String) -> String { "\"" + value.escaping(escapes) + "\"" }

    private static let escapes = String.jsonEscapes.merging(
        ["\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{7F}": "\\u007f"]) { $1 }
}

extension LogHandler {
    /// Returns the metadata of the handler, its provider and the event; if a key occurs more than once, the last value
    /// wins.
    func allMetadata(of event: LogEvent) -> Logger.Metadata {
        metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
    }
}
