/// Decides whether the collector delays a read so that one commit covers more messages (group commit). A commit of many
/// messages costs little more than a commit of few: each writes about four database pages (16 KB) besides its samples,
/// and may wait for the disk.
///
/// A broker sends only a limited number of messages before it waits for an acknowledgement: its in-flight window. It
/// does not announce the size of the window, but it is at least the largest number of messages that a turn has
/// received. The collector lingers only if the expected messages fill less than half of that window. With more, the
/// broker might be waiting for acknowledgements at the same time.
struct CommitLinger {
    /// The minimum delay, from the start of a turn to the start of the next one.
    static let minInterval = Duration.milliseconds(10)
    /// The maximum delay, except for a probe.
    static let maxInterval = Duration.milliseconds(100)
    /// The rate of messages per second above which the delay depends on the number of samples. Below it, the commits
    /// are few, and a longer delay would only make the data older. A device with three streams sends three to five
    /// messages a second, so this is a fleet of ten such devices or more.
    static let minRate = 50.0
    /// The number of samples that are worth a commit: they take about 50 KB.
    static let worthwhileSamples = 1000.0
    /// The minimum delay of a probe. A probe finds out whether the window is larger than known.
    static let minProbe = minInterval * 4
    /// The time between two probes. It doubles from the minimum to the maximum. The maximum is shorter than
    /// `memoryPeriod`, so that the result of one probe is still known at the next one.
    private static let minProbeInterval = Duration.milliseconds(200)
    private static let maxProbeInterval = Duration.seconds(20)
    /// The minimum time for which a turn's message count is remembered. Older counts are forgotten, because the window
    /// can shrink.
    private static let memoryPeriod = Duration.seconds(30)

    /// The maximum number of messages of a turn, in the current memory period and in the previous one.
    private var maxMessages = 0
    private var previousMaxMessages = 0
    private var memoryEnd: ContinuousClock.Instant
    private var rate: ArrivalRate
    private var nextProbe: ContinuousClock.Instant
    private var probeInterval = Self.minProbeInterval

    /// - Parameter now: the time at which the connection was established.
    init(at now: ContinuousClock.Instant) {
        rate = ArrivalRate(at: now)
        nextProbe = now + ArrivalRate.minPeriod
        memoryEnd = now + Self.memoryPeriod
    }

    /// The known minimum size of the broker's in-flight window, in messages.
    private var window: Int { max(maxMessages, previousMaxMessages) }

    /// Returns the delay that makes commits worthwhile at a steady rate.
    ///
    /// A message without samples counts as one sample.
    static func interval(at rate: ArrivalRate.Rate) -> Duration {
        guard rate.messages >= minRate else { return minInterval }
        return max(minInterval, min(maxInterval, .seconds(worthwhileSamples / max(rate.samples, rate.messages))))
    }

    /// Returns the time in which messages fill half of the broker's in-flight window.
    /// - Parameters:
    ///   - window: the size of the window in messages.
    ///   - rate: the rate of messages per second.
    static func timeToHalf(of window: Int, at rate: Double) -> Duration {
        guard rate > 0 else { return maxInterval }
        // Longer times are equivalent.
        return .seconds(min(1, Double(window) / 2 / rate))
    }

    /// Returns the delay of a probe.
    /// - Parameters:
    ///   - interval: the delay that makes commits worthwhile.
    ///   - limit: the time in which messages fill half of the known window. The probe lets at most twice the window
    ///     arrive, so that a broker with this window does not wait for long.
    static func probe(for interval: Duration, limit: Duration) -> Duration {
        max(minProbe, min(limit * 4, interval * 2))
    }

    /// Records the messages of a turn.
    /// - Parameters:
    ///   - messages: the number of messages that need an acknowledgement.
    ///   - samples: the number of samples in all messages.
    ///   - retained: the number of retained messages among them. Some brokers send these outside of the window.
    mutating func record(_ messages: Int, samples: Int, retained: Int = 0, at now: ContinuousClock.Instant) {
        if now >= memoryEnd {
            (maxMessages, previousMaxMessages) = (0, maxMessages)
            memoryEnd = now + Self.memoryPeriod
        }
        maxMessages = max(maxMessages, messages - retained)
        rate.record(messages: messages, samples: samples, at: now)
    }

    /// Returns the time until which to delay the next read, or nil to read at once. May begin a probe.
    /// - Parameters:
    ///   - start: the start of the last turn.
    ///   - now: the current time.
    mutating func begin(after start: ContinuousClock.Instant, now: ContinuousClock.Instant) -> ContinuousClock.Instant?
    {
        let interval = Self.interval(at: rate.steady)
        guard now < start + interval else { return nil }
        let limit = Self.timeToHalf(of: window, at: rate.peakMessages)
        if limit < interval, now >= nextProbe {
            nextProbe = now + probeInterval
            probeInterval = min(probeInterval * 2, Self.maxProbeInterval)
            return now + Self.probe(for: interval, limit: limit)
        }
        let end = start + min(interval, limit)
        return limit >= Self.minInterval && now < end ? end : nil
    }
}
