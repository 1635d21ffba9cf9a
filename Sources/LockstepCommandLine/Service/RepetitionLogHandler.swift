public import Logging
import Synchronization

/// Prevents repeated events from filling a log.
///
/// Events are equal if they come from the same source line with the same level, message and metadata. The first few
/// equal events within a minute are passed on. When the minute is over, the next event is preceded by a summary: the
/// event with the number of suppressed repetitions (`repeated`) in its metadata.
public struct RepetitionLogHandler: LogHandler {
    /// The properties that make events equal.
    private struct Kind: Hashable {
        let file: String
        let line: UInt
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata

        static func == (left: Kind, right: Kind) -> Bool {
            left.line == right.line && left.level == right.level && left.message == right.message
                && left.file == right.file && left.metadata == right.metadata
        }

        // Metadata values are not hashable, so hash their text.
        func hash(into hasher: inout Hasher) {
            hasher.combine(line)
            hasher.combine(message)
            for key in metadata.keys.sorted() { hasher.combine(metadata[key]?.description) }
        }
    }

    /// The state that all copies of a handler share.
    private final class Shared: Sendable {
        let limiter = Mutex(RepetitionLimiter<Kind>())
    }

    private var handler: any LogHandler
    private let shared = Shared()
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Creates a handler that passes events on to `handler`.
    public init(_ handler: any LogHandler) { self.init(handler) { .now } }

    /// Creates a handler with another clock.
    /// - Parameter now: returns the current time.
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
        let kind = Kind(
            file: event.file, line: event.line, level: event.level, message: event.message.description,
            metadata: allMetadata(of: event))
        let time = now()
        let (summaries, passes) = shared.limiter.withLock { limiter in
            let summaries = limiter.takeSummaries(at: time)
            return (summaries, limiter.shouldPass(kind, at: time))
        }
        for summary in summaries { handler.log(event: repeated(summary, as: event)) }
        if passes { handler.log(event: event) }
    }

    private func repeated(_ summary: RepetitionLimiter<Kind>.Summary, as event: LogEvent) -> LogEvent {
        var repeated = event
        repeated.level = summary.key.level
        repeated.message = "\(summary.key.message)"
        repeated.metadata = summary.key.metadata.merging([
            "repeated": "\(summary.count)", "within": "\(RepetitionLimiter<Kind>.window.components.seconds)s",
        ]) { $1 }
        return repeated
    }
}
