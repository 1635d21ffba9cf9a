/// Decides whether a turn waits for more messages after a burst. One commit for a whole burst costs less than several
/// commits for its pieces.
///
/// Waiting is futile if the broker itself waits for the acknowledgements of this turn. Such a broker stops at the same
/// number of messages every time, so the gap is skipped at the number at which the last wait was futile.
struct IdleGap {
    private let limits: TurnLimits
    /// The remaining waiting time of this turn.
    private var remaining = Duration.zero
    /// The number of messages at which this turn last waited.
    private var waitedAt: Int?
    /// The number of messages at which a turn last waited and nothing arrived.
    private var futileAt: Int?

    init(_ limits: TurnLimits) { self.limits = limits }

    /// Starts a turn. If the collector has lingered before it, the turn does not wait again.
    mutating func beginTurn(hasLingered: Bool) {
        remaining = hasLingered ? .zero : limits.totalIdleGap
        waitedAt = nil
    }

    /// Returns how long to wait for more messages, or nil if the turn should end.
    /// - Parameter messages: the number of messages of this turn that need an acknowledgement. If it has not changed
    ///   since the last wait, only other messages arrived, and the turn does not wait again.
    mutating func begin(after messages: Int) -> Duration? {
        guard messages >= limits.burst, messages != waitedAt, messages != futileAt, remaining > .zero else {
            return nil
        }
        waitedAt = messages
        return min(limits.idleGap, remaining)
    }

    /// Records the end of a wait.
    /// - Parameters:
    ///   - waited: the duration of the wait.
    ///   - isReadable: whether something arrived.
    mutating func end(waited: Duration, isReadable: Bool) {
        remaining -= waited
        if !isReadable { futileAt = waitedAt }
    }
}
