/// The four times of one exchange, in µs: two of the device's clock and two of the collector's.
public struct ClockProbe: Hashable, Sendable {
    /// The time at which the device sent the request (t1), on the device's clock.
    public var sent: Int64
    /// The time at which the collector received it (t2), on the collector's clock.
    public var received: Int64
    /// The time at which the collector sent the answer (t3), on the collector's clock.
    public var answered: Int64
    /// The time at which the device received it (t4), on the device's clock.
    public var returned: Int64

    /// Creates a probe.
    public init(sent: Int64, received: Int64, answered: Int64, returned: Int64) {
        self.sent = sent
        self.received = received
        self.answered = answered
        self.returned = returned
    }

    /// The time that both messages took together, in µs.
    public var roundTrip: Int64 { (returned - sent) - (answered - received) }

    /// The device's clock minus the collector's in µs, if both messages took equally long.
    public var offset: Double { Double((sent - received) + (returned - answered)) / 2 }

    /// The lowest possible offset when the request was sent, because it was not received before. One µs covers the
    /// rounding of both times.
    public var lower: Int64 { sent - received - 1 }
    /// The highest possible offset when the answer was received, because it was not sent later.
    public var upper: Int64 { returned - answered + 1 }

    /// Whether the times can be those of an exchange. Others come from a foreign or faulty sender.
    public var isPlausible: Bool { answered >= received && returned >= sent && roundTrip >= -1 }
}
