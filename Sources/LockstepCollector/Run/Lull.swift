/// When a turn waits a moment for more, where so much has come that there probably is: a commit for each trickle of a
/// stream costs more than one for all.
///
/// With a broker that waits itself, for the turn's acknowledgements, it would be in vain; that shows in how many messages
/// there were when nothing more came.
struct Lull {
    private let limits: TurnLimits
    /// What is left of the waiting of this turn.
    private var left = Duration.zero
    /// After how many messages this turn last waited.
    private var waitedAt: Int?
    /// After how many a turn last waited in vain.
    private var fruitlessAt: Int?

    init(_ limits: TurnLimits) { self.limits = limits }

    /// A turn begins. If its messages have gathered, they are enough for a commit: it waits for no more.
    mutating func beginTurn(hasGathered: Bool) {
        left = hasGathered ? .zero : limits.lulls
        waitedAt = nil
    }

    /// How long to wait for more; nil where the turn should end.
    /// - Parameter messages: of the turn, for whose acknowledgement the broker waits. Where only others came since the
    ///   last wait, it does not begin again.
    mutating func begin(after messages: Int) -> Duration? {
        guard messages >= limits.burst, messages != waitedAt, messages != fruitlessAt, left > .zero else { return nil }
        waitedAt = messages
        return min(limits.lull, left)
    }

    /// Takes in how long that took, and whether something came.
    mutating func end(waited: Duration, hasCome: Bool) {
        left -= waited
        if !hasCome { fruitlessAt = waitedAt }
    }
}
