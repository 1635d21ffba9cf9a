public import ArgumentParser
import FoundationEssentials
public import Logging

/// The options for the log on standard error.
public struct LogOptions: ParsableArguments {
    /// The names of the settings behind these options.
    public static let names = ["log-level", "log-format"]

    /// The value of `--log-level`.
    @Option(help: "Log level: trace, debug, info, notice, warning, error or critical (default: info).")
    public var logLevel: String?

    /// The value of `--log-format`.
    @Option(
        help: """
            Log format: text, or json with one object per line (default: text). Logs to the systemd journal are \
            always text.
            """
    )
    public var logFormat: String?

    private enum Format: String, CaseIterable { case text, json }

    /// Creates options without values.
    public init() {}

    /// Sets up logging to standard error for the whole process, and returns a logger. Call it once.
    ///
    /// If standard error is connected to the systemd journal, lines have a priority instead of a time.
    /// - Throws: ``CommandFailure`` for an unknown level or format.
    public func makeLogger(_ label: String, _ settings: Settings) throws -> Logger {
        let level =
            try settings.value("log-level", logLevel) { text in
                guard let level = Logger.Level(rawValue: text) else {
                    throw CommandFailure(
                        "'\(text)' is not a log level: use trace, debug, info, notice, warning, error or critical")
                }
                return level
            } ?? .info
        let format = try settings.value("log-format", logFormat) { try choice($0, of: Format.self) } ?? .text
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

extension Logger {
    /// A logger that logs only errors, for libraries whose other events do not matter to the user.
    public static var quiet: Logger {
        var logger = Logger(label: "lockstep")
        logger.logLevel = .error
        return logger
    }
}
