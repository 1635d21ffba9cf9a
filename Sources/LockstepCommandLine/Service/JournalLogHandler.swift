import Glibc
public import Logging

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
