import Glibc
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
    /// The colour of a level on a terminal.
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
