public import Logging
import Synchronization

/// Keeps one message that comes over and over from filling a log: of the same message from the same line of the program
/// it hands on the first few in a minute, and after that minute how many more there were.
public struct RepetitionLogHandler: LogHandler {
    private struct Message: Hashable {
        let file: String
        let line: UInt
        let level: Logger.Level
        let text: String
    }

    /// Shared by all copies of one handler.
    private final class Book: Sendable {
        let repetition = Mutex(Repetition<Message>())
    }

    private var handler: any LogHandler
    private let book = Book()
    private let now: @Sendable () -> ContinuousClock.Instant

    public init(_ handler: any LogHandler) { self.init(handler) { .now } }

    /// - Parameter now: tells the time.
    package init(_ handler: any LogHandler, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.handler = handler
        self.now = now
    }

    public var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue }
    }

    public var logLevel: Logger.Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }

    public var metadataProvider: Logger.MetadataProvider? {
        get { handler.metadataProvider }
        set { handler.metadataProvider = newValue }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }

    public func log(event: LogEvent) {
        let message = Message(
            file: event.file, line: event.line, level: event.level, text: event.message.description)
        let time = now()
        let (summaries, says) = book.repetition.withLock { repetition in
            let summaries = repetition.takeSummaries(at: time)
            return (summaries, repetition.says(message, at: time))
        }
        for summary in summaries {
            var more = event
            more.level = summary.key.level
            more.metadata = nil
            more.message =
                "\(summary.key.text) … \(summary.count) more in \(Repetition<Message>.span.components.seconds) s"
            handler.log(event: more)
        }
        if says { handler.log(event: event) }
    }
}
