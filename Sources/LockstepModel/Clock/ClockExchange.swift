/// A request of an agent for the collectors' time.
public struct ClockPing: Hashable, Sendable {
    /// The number of the request, chosen by the agent. The answer repeats it.
    public var number: Int64

    /// Creates a request.
    public init(number: Int64) { self.number = number }
}

/// A collector's answer to a ``ClockPing``.
public struct ClockPong: Hashable, Sendable {
    /// The number of the request.
    public var number: Int64
    /// The id of the collector.
    public var collector: CollectorID
    /// An identifier of the boot of the collector's machine, within which `received` and `sent` are comparable.
    public var boot: String
    /// The time at which the request was received, in µs of `CLOCK_MONOTONIC_RAW`, which nothing adjusts.
    public var received: Int64
    /// The time at which the answer was sent, in µs of the same clock.
    public var sent: Int64
    /// The collector's wall-clock time minus that clock, in µs.
    public var shift: Int64
    /// The largest error of the collector's wall clock in µs, as its daemon states it, or nil if it is not disciplined.
    public var maxError: Int64?

    /// Creates an answer.
    public init(
        number: Int64, collector: CollectorID, boot: String, received: Int64, sent: Int64, shift: Int64,
        maxError: Int64? = nil
    ) {
        self.number = number
        self.collector = collector
        self.boot = boot
        self.received = received
        self.sent = sent
        self.shift = shift
        self.maxError = maxError
    }
}
