/// Detects that another client with the same client id has taken over the connection.
///
/// A broker may report a takeover in an MQTT 5 DISCONNECT packet (reason code 0x8E). Mosquitto 2.0.11 does not, and
/// with MQTT 3.1.1 no broker can: it only closes the connection. A broker that is killed also closes its connections.
///
/// Without a report, a takeover is assumed if ``threshold`` successive connections were soon lost, see ``maxDuration``,
/// while the broker kept running: it still listened after each loss except the first, it resumed the session on each
/// connect, and no connect failed. Two clients with one id end each other's connection as soon as the first backoff
/// delay has passed. An unstable network that cuts the connections looks the same, but is slower.
struct TakeoverDetector {
    /// The number of successive short connections that are a takeover.
    static let threshold = 3
    /// The longest time to connect that counts: a longer one had other reasons than the distance to the broker.
    static let maxConnectTime = Duration.seconds(2)

    /// The duration below which a connection is short. The other client needs its backoff delay and the time to connect.
    private var maxDuration: Duration { .milliseconds(1200) + connectTime * 2 }
    /// The maximum time to connect to a broker that is running.
    var probeLimit: Duration { .milliseconds(250) + connectTime }

    /// Successive short connections that may have been taken over.
    private var suspects = 0
    private var connectedAt = ContinuousClock.now
    /// How long it took to connect the last time.
    private var connectTime = Duration.zero

    /// - Parameters:
    ///   - hasLostSession: whether the broker did not resume the session that it was asked to keep.
    ///   - connectTime: the time from the begin of the attempt until the broker accepted the connection.
    mutating func didConnect(hasLostSession: Bool, after connectTime: Duration, at now: ContinuousClock.Instant) {
        // After a takeover, the session would still exist, so the broker was restarted.
        if hasLostSession { suspects = 0 }
        connectedAt = now
        self.connectTime = min(connectTime, Self.maxConnectTime)
    }

    /// Records a failed connection attempt. The broker was down.
    mutating func didFail() { suspects = 0 }

    /// Records the end of an established connection.
    /// - Parameter isListening: connects to the broker to check whether it is still running; evaluated only if
    ///   necessary.
    /// - Returns: whether another client has taken over the connection.
    mutating func didLose(
        _ code: MQTTError.Code, isListening: @autoclosure () -> Bool, at now: ContinuousClock.Instant
    ) -> Bool {
        guard code != .takenOver else { return true }
        guard code == .connectionLost, now - connectedAt < maxDuration, suspects == 0 || isListening() else {
            suspects = 0
            return false
        }
        suspects += 1
        return suspects >= Self.threshold
    }
}
