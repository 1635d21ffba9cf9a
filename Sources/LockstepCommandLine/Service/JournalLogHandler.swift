import Glibc
public import Logging

/// Writes one line an event to standard error as systemd's journal wants it: the priority in front, as `<4>`, and no
/// time, which the journal has. See sd-daemon(3).
public struct JournalLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var logLevel = Logger.Level.info
    public var metadataProvider: Logger.MetadataProvider?
    private let write: @Sendable (String) -> Void

    public init() { self.init { Terminal.complain($0) } }

    /// - Parameter write: takes a line, without its end.
    package init(write: @escaping @Sendable (String) -> Void) { self.write = write }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        // A line break would begin another entry, without a priority.
        write("<\(event.level.priority)>\(event.message)\(pairs)".printable)
    }

    /// Whether standard error goes to the journal: systemd names the device and inode of the stream it made, since a
    /// program may inherit the variable and have its output elsewhere.
    /// - Parameter stream: what `JOURNAL_STREAM` has.
    public static func isJournal(_ stream: String?) -> Bool {
        guard let stream else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}

extension Logger.Level {
    /// As syslog(3) counts: 7 debug … 2 critical.
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
