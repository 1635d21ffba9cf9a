/// Measures the rate at which messages and samples arrive, over short periods.
struct ArrivalRate {
    /// A number of messages and samples: those of a period, or per second.
    struct Rate {
        var messages = 0.0
        var samples = 0.0
    }

    /// The minimum length of a period. A period ends with the first turn that ends after it.
    static let minPeriod = Duration.milliseconds(100)
    /// The maximum length of a period without a pause. It exceeds the delay of any linger.
    private static let maxPeriod = minPeriod * 3

    private var start: ContinuousClock.Instant
    /// The messages and samples since `start`.
    private var current = Rate()
    /// The rates of the last two periods, per second.
    private var last = Rate()
    private var previous = Rate()
    /// The peak rates of messages in the last two periods, per second.
    private var lastPeak = 0.0
    private var previousPeak = 0.0

    init(at now: ContinuousClock.Instant) { start = now }

    /// The highest rate of messages of the last periods, per second.
    ///
    /// The current period counts with its minimum length. So does a period with a pause, because its messages may have
    /// arrived in one burst.
    var peakMessages: Double { max(current.messages / (Self.minPeriod / .seconds(1)), lastPeak, previousPeak) }

    /// The rates that were reached in both of the last two periods, per second. A single burst does not raise them.
    var steady: Rate {
        Rate(messages: min(last.messages, previous.messages), samples: min(last.samples, previous.samples))
    }

    /// Records the messages and samples of a turn that ends now.
    mutating func record(messages: Int, samples: Int, at now: ContinuousClock.Instant) {
        current.messages += Double(messages)
        current.samples += Double(samples)
        let length = now - start
        guard length >= Self.minPeriod else { return }
        previousPeak = lastPeak
        let counted: Duration = length > Self.maxPeriod ? Self.minPeriod : length
        lastPeak = current.messages / (counted / .seconds(1))
        let seconds = length / .seconds(1)
        previous = last
        last = Rate(messages: current.messages / seconds, samples: current.samples / seconds)
        current = Rate()
        start = now
    }
}
