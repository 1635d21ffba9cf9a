/// The time for which a gateway stays disconnected after another client has taken over its session.
///
/// Two gateways with the same id would otherwise take the session from each other twice a minute. The pause doubles with
/// each takeover. Times are in µs of the boot clock.
struct TakeoverPause {
    /// The first pause, which is also the delay of ``/LockstepMQTT/BrokerLink`` after a takeover.
    static let initial: Int64 = 30_000_000
    /// The longest pause. Meanwhile, the samples of HTTP requests stay in the outbox, and MQTT messages with QoS 0 are lost.
    static let maximum: Int64 = 120_000_000
    /// The time after a pause from which a takeover counts as the first one again.
    static let calm: Int64 = 3_600_000_000

    private var pause: Int64 = 0
    /// The end of the pause.
    private(set) var end: Int64 = 0

    /// Begins a pause.
    /// - Returns: its duration in µs.
    mutating func didLoseSession(at now: Int64) -> Int64 {
        if now - end >= Self.calm { pause = 0 }
        pause = pause == 0 ? Self.initial : min(2 * pause, Self.maximum)
        end = now + pause
        return pause
    }
}
