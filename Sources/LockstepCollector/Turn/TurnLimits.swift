/// The limits of a turn: how much the collector ingests before it commits and acknowledges.
///
/// A turn is one transaction. It is handed to the store in parts, so that the collector reads one part while the store
/// writes the previous one.
struct TurnLimits: Sendable {
    /// The maximum number of messages of a turn. It is large, so that small messages share the database pages they
    /// change. If the store accepts a commit a second, this is also the maximum number of messages a second.
    var messages = 30_000
    /// The maximum number of samples of a turn. A small message can hold many samples.
    var samples = 300_000
    /// The same for a store that limits its commits, each of which then has to hold more.
    var samplesOfLimitedCommit = 600_000
    /// The minimum number of messages of a part. Smaller parts are inefficient to insert.
    var partMessages = 3000
    /// The number of pending samples that are enough for a part, regardless of the number of messages.
    var partSamples = 20_000
    /// The maximum duration of reading. It bounds the acknowledgement delay when the disk is slow.
    var duration = Duration.milliseconds(250)
    /// The time from the start of a turn in which it pauses for more messages.
    var gathering = Duration.milliseconds(100)
    /// The time between two reads of a turn.
    var pause = Duration.milliseconds(20)
    /// The time between two reads at a high rate. The buffers of the connection hold only a few hundred messages, and
    /// the broker sends nothing while they are full.
    var shortPause = Duration.milliseconds(1)
    /// The number of messages since the last pause from which the rate counts as high.
    var burst = 100
    /// The number of samples that are worth a commit: they take about 50 KB, and a commit writes about 16 KB besides. If as
    /// many have arrived since the last pause, the rate counts as high.
    var worthwhileSamples = 1000

    /// Returns whether the pending messages are enough for a part: they have used up half of the messages, or half of
    /// the time, that the turn had left after the previous part.
    ///
    /// A larger part costs less per message, but the turn ends only when its last part is written.
    /// - Parameters:
    ///   - pending: the number of messages since the previous part.
    ///   - handedOver: the number of messages up to the previous part.
    ///   - elapsed: the time since the previous part.
    ///   - remaining: the time that was left at the previous part.
    func isPartReady(_ pending: Int, after handedOver: Int, elapsed: Duration, of remaining: Duration) -> Bool {
        pending >= partMessages && (2 * pending >= messages - handedOver || elapsed >= remaining / 2)
    }
}
