/// How much a collector takes in before it acknowledges.
///
/// A turn takes a few groups, each one transaction, and reads one while the store writes the one before.
struct TurnLimits: Sendable {
    /// Messages of a group: enough that small ones share the pages that they change, and few enough that a turn has
    /// several groups to overlap.
    var messages = 5000
    /// Samples after which a group takes no further message: a small message can hold many.
    var samples = 100_000
    var groups = 3
    /// After this a turn takes no further group: acknowledgements must not wait long for a slow disk.
    var duration = Duration.milliseconds(250)
}
