/// Decides whether the collector delays a read so that one commit covers more messages (group commit). A commit of many
/// messages costs little more than a commit of few.
///
/// A broker sends only a limited number of messages before it waits for an acknowledgement: its in-flight window. It
/// does not announce the size of the window, but it is at least the largest number of messages that a turn has
/// received. The collector lingers only if the expected messages fill less than half of that window. With more, the
/// broker might be waiting for acknowledgements at the same time.
struct CommitLinger {
    /// The delay, from the start of a turn to the start of the next one.
    static let interval = Duration.milliseconds(10)
    /// The delay of a probe. A probe finds out whether the window is larger than known.
    static let probeDuration = Duration.milliseconds(40)
    /// The time between two probes. It doubles from the minimum to the maximum. The maximum is shorter than
    /// `memoryPeriod`, so that the result of one probe is still known at the next one.
    private static let minProbeInterval = Duration.milliseconds(200)
    private static let maxProbeInterval = Duration.seconds(20)
    /// The period over which messages are counted to estimate their rate.
    private static let ratePeriod = Duration.milliseconds(100)
    /// The minimum time for which a turn's message count is remembered. Older counts are forgotten, because the window
    /// can shrink.
    private static let memoryPeriod = Duration.seconds(30)

    /// The maximum number of messages of a turn, in the current memory period and in the previous one.
    private var maxMessages = 0
    private var previousMaxMessages = 0
    private var memoryEnd: ContinuousClock.Instant
    /// The number of messages in the current rate period and in the previous one.
    private var count = 0
    private var previousCount = 0
    private var ratePeriodEnd: ContinuousClock.Instant
    private var nextProbe: ContinuousClock.Instant
    private var probeInterval = Self.minProbeInterval

    /// - Parameter now: the time at which the connection was established.
    init(at now: ContinuousClock.Instant) {
        ratePeriodEnd = now + Self.ratePeriod
        nextProbe = ratePeriodEnd
        memoryEnd = now + Self.memoryPeriod
    }

    /// The known minimum size of the broker's in-flight window, in messages.
    private var window: Int { max(maxMessages, previousMaxMessages) }

    /// Records the messages of a turn.
    /// - Parameters:
    ///   - messages: the number of messages that need an acknowledgement.
    ///   - retained: the number of retained messages among them. Some brokers send these outside of the window.
    mutating func record(_ messages: Int, retained: Int = 0, at now: ContinuousClock.Instant) {
        if now >= memoryEnd {
            (maxMessages, previousMaxMessages) = (0, maxMessages)
            memoryEnd = now + Self.memoryPeriod
        }
        if now >= ratePeriodEnd {
            (count, previousCount) = (0, count)
            ratePeriodEnd = now + Self.ratePeriod
        }
        maxMessages = max(maxMessages, messages - retained)
        count += messages
    }

    /// Returns the time until which to delay the next read, or nil to read at once. May begin a probe.
    /// - Parameters:
    ///   - start: the start of the last turn.
    ///   - now: the current time.
    mutating func begin(after start: ContinuousClock.Instant, now: ContinuousClock.Instant) -> ContinuousClock.Instant?
    {
        let end = start + Self.interval
        guard now < end else { return nil }
        if Self.interval * (2 * max(count, previousCount)) <= Self.ratePeriod * window { return end }
        guard now >= nextProbe else { return nil }
        nextProbe = now + probeInterval
        probeInterval = min(probeInterval * 2, Self.maxProbeInterval)
        return now + Self.probeDuration
    }
}
