import FoundationEssentials
public import Logging

/// The settings of the log on standard error.
public struct LogSettings: SettingGroup {
    let level = Setting(
        "log-level", "Log level: trace, debug, info, notice, warning, error or critical (default: info).", logLevel)
    let format = Setting(
        "log-format",
        """
        Log format: text, or json with one object per line (default: text). Logs to the systemd journal are always text.
        """
    ) { try choice($0, of: LogFormat.self) }

    public init() {}
}

enum LogFormat: String, CaseIterable, Sendable { case text, json }

/// The options for the log on standard error.
public typealias LogOptions = Options<LogSettings>

extension Options<LogSettings> {
    /// Sets up logging to standard error for the whole process, and returns a logger. Call it once.
    ///
    /// If standard error is connected to the systemd journal, lines have a priority instead of a time.
    /// - Throws: ``CommandFailure`` for an unknown level or format.
    public func makeLogger(_ label: String, _ settings: Settings) throws -> Logger {
        let level = try settings.value(self.level) ?? .info
        let format = try settings.value(self.format) ?? .text
        if JournalLogHandler.isJournal(ProcessInfo.processInfo.environment["JOURNAL_STREAM"]) {
            LoggingSystem.bootstrap { _ in RepetitionLogHandler(JournalLogHandler()) }
        } else {
            LoggingSystem.bootstrap { RepetitionLogHandler(ConsoleLogHandler(label: $0, isJSON: format == .json)) }
        }
        var logger = Logger(label: label)
        logger.logLevel = level
        return logger
    }
}

private func logLevel(_ text: String) throws -> Logger.Level {
    guard let level = Logger.Level(rawValue: text) else {
        throw CommandFailure("'\(text)' is not a log level: use trace, debug, info, notice, warning, error or critical")
    }
    return level
}

extension Logger {
    /// A logger that logs only errors, for libraries whose other events do not matter to the user.
    public static var quiet: Logger {
        var logger = Logger(label: "lockstep")
        logger.logLevel = .error
        return logger
    }
}
