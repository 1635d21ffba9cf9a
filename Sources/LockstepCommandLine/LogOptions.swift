public import ArgumentParser
import FoundationEssentials
public import Logging

/// How much a program says on standard error.
public struct LogOptions: ParsableArguments {
    public static let names = ["log-level"]

    @Option(help: "trace, debug, info, notice, warning, error or critical (default: info).")
    public var logLevel: String?

    public init() {}

    /// Sets up logging to standard error, for the whole process; in the form of the journal where that listens.
    public func makeLogger(_ label: String, _ settings: Settings) throws -> Logger {
        let level =
            try settings.value("log-level", logLevel) { text in
                guard let level = Logger.Level(rawValue: text) else {
                    throw CommandFailure("'\(text)' is no log level: write debug, info, warning or error")
                }
                return level
            } ?? .info
        if JournalLogHandler.isJournal(ProcessInfo.processInfo.environment["JOURNAL_STREAM"]) {
            LoggingSystem.bootstrap { _ in RepetitionLogHandler(JournalLogHandler()) }
        } else {
            LoggingSystem.bootstrap { RepetitionLogHandler(StreamLogHandler.standardError(label: $0)) }
        }
        var logger = Logger(label: label)
        logger.logLevel = level
        return logger
    }
}

extension Logger {
    /// For libraries whose comings and goings are no news to the person who runs the program.
    public static var quiet: Logger {
        var logger = Logger(label: "lockstep")
        logger.logLevel = .error
        return logger
    }
}
