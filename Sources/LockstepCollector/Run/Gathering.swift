/// Whether a collector lets messages gather before it reads them: a commit of many costs little more than one of few.
///
/// A broker sends only so many before an acknowledgement, its window, and does not say how many; but as many as once came
/// it sends again. Messages gather only while less than half a window of them comes in the time: with more, the broker may
/// be waiting as well.
struct Gathering {
    /// From the start of a turn to the next one's.
    static let interval = Duration.milliseconds(10)
    /// How long they gather, once in a while, to learn whether the window is larger than is known.
    static let trial = Duration.milliseconds(40)
    /// From one such trial to the next, at first and at the most: what the last has shown should not be forgotten before.
    private static let firstPause = Duration.milliseconds(200)
    private static let longestPause = Duration.seconds(20)
    /// What messages are counted over.
    private static let span = Duration.milliseconds(100)
    /// How long, at the least, what once came counts: a window can depend on what the broker has to send.
    private static let memory = Duration.seconds(30)

    /// The most messages of a turn: since the last time that older ones were forgotten, and in as long before.
    private var most = 0
    private var mostBefore = 0
    private var forgetAt: ContinuousClock.Instant
    /// Messages of this span, and of the last.
    private var count = 0
    private var lastCount = 0
    private var spanEnd: ContinuousClock.Instant
    private var trialAt: ContinuousClock.Instant
    private var pause = Self.firstPause

    /// - Parameter now: when the connection came up.
    init(at now: ContinuousClock.Instant) {
        spanEnd = now + Self.span
        trialAt = spanEnd
        forgetAt = now + Self.memory
    }

    /// How many messages the broker is known to send before an acknowledgement.
    private var window: Int { max(most, mostBefore) }

    /// Takes in how many messages a turn has read for whose acknowledgement the broker waits.
    /// - Parameter retained: those of them that a new subscription brought: some brokers send these beside the window.
    mutating func note(_ messages: Int, retained: Int = 0, at now: ContinuousClock.Instant) {
        if now >= forgetAt {
            (most, mostBefore) = (0, most)
            forgetAt = now + Self.memory
        }
        if now >= spanEnd {
            (count, lastCount) = (0, count)
            spanEnd = now + Self.span
        }
        most = max(most, messages - retained)
        count += messages
    }

    /// Until when to leave unread what has come, which may begin a trial; nil where it is to be read at once.
    /// - Parameter start: of the last turn.
    mutating func begin(after start: ContinuousClock.Instant, now: ContinuousClock.Instant) -> ContinuousClock.Instant?
    {
        let end = start + Self.interval
        guard now < end else { return nil }
        if Self.interval * (2 * max(count, lastCount)) <= Self.span * window { return end }
        guard now >= trialAt else { return nil }
        trialAt = now + pause
        pause = min(pause * 2, Self.longestPause)
        return now + Self.trial
    }
}
