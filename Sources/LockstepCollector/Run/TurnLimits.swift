/// How much a collector takes in before it acknowledges.
///
/// A turn is one transaction. It reads one part while the store takes in the one before.
struct TurnLimits: Sendable {
    /// Messages after which a turn ends: enough that small ones share the pages that they change.
    var messages = 30_000
    /// Samples after which it ends: a small message can hold many.
    var samples = 300_000
    /// Messages, or samples, of which a part consists at the least: with fewer there is little to insert together.
    var partMessages = 3000
    var partSamples = 20_000
    /// Messages after which a turn does not end at the first lull, how long that is then, and all of a turn together: a
    /// steady stream would else draw each turn out to the end.
    var burst = 100
    var lull = Duration.milliseconds(10)
    var lulls = Duration.milliseconds(40)
    /// After this a turn ends: acknowledgements must not wait long for a slow disk.
    var duration = Duration.milliseconds(250)

    /// Whether the messages that wait make a part: half of what the turn had left when the part before was handed over, be
    /// it messages or time. The more a part has the less each of its messages costs, but for the last all wait at the end.
    /// - Parameters:
    ///   - waiting: messages since the part before.
    ///   - added: messages up to then.
    ///   - elapsed: time since then.
    ///   - left: time that was left then.
    func isPart(_ waiting: Int, after added: Int, elapsed: Duration, of left: Duration) -> Bool {
        waiting >= partMessages && (2 * waiting >= messages - added || elapsed >= left / 2)
    }
}
