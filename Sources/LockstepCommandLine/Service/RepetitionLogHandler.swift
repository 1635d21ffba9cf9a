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

/// Limits repeated log events: the first few of each kind within a minute pass, the others are counted.
///
/// The time is a parameter, so that decisions are deterministic in tests.
struct RepetitionLimiter<Key: Hashable & Sendable>: Sendable {
    /// The number of events of one kind that pass within ``window``.
    static var maxPassed: Int { 5 }
    /// The time over which events of one kind are counted.
    static var window: Duration { .seconds(60) }
    /// The number of kinds counted at the same time; events of further kinds pass.
    private static var maxKinds: Int { 1000 }

    /// The number of suppressed events of one kind.
    struct Summary: Sendable, Equatable {
        let key: Key
        let count: Int
    }

    /// The events of one kind since the start of its window.
    private struct Count {
        let since: ContinuousClock.Instant
        var count = 0
    }

    private var counts: [Key: Count] = [:]
    /// The end of the earliest window.
    private var nextEnd: ContinuousClock.Instant?

    init() {}

    /// Counts an event and returns whether it passes.
    mutating func shouldPass(_ key: Key, at now: ContinuousClock.Instant) -> Bool {
        guard counts[key] != nil || counts.count < Self.maxKinds else { return true }
        counts[key, default: Count(since: now)].count += 1
        nextEnd = nextEnd ?? now + Self.window
        return counts[key].map { $0.count <= Self.maxPassed } ?? true
    }

    /// Removes and returns the summaries of all windows that have ended, in the order of their start.
    mutating func takeSummaries(at now: ContinuousClock.Instant) -> [Summary] {
        guard let nextEnd, now >= nextEnd else { return [] }
        let ended = counts.filter { now >= $0.value.since + Self.window }
        for key in ended.keys { counts[key] = nil }
        self.nextEnd = counts.values.map { $0.since + Self.window }.min()
        return ended.filter { $0.value.count > Self.maxPassed }.sorted { $0.value.since < $1.value.since }
            .map { Summary(key: $0.key, count: $0.value.count - Self.maxPassed) }
    }
}
