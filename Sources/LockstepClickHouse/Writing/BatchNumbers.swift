import LockstepModel
import LockstepStore

/// The received and dropped batch numbers of a device and epoch.
struct BatchNumbers: Equatable {
    /// The numbers of received batches.
    var received = SequenceSet()
    /// The numbers of batches that the agent dropped.
    var dropped = SequenceSet()
    /// What the device has reported about them, or nil.
    var report: EpochReport?

    /// Returns the ranges of `new` that are not ranges of `old`: those that have to be written.
    ///
    /// A range that has grown at its end replaces its earlier version in the table, because both have the same start.
    static func ranges(of new: SequenceSet, notIn old: SequenceSet) -> [ClosedRange<Int64>] {
        // Numbers mostly grow at the end, so that the common start is long.
        let common = zip(new.ranges, old.ranges).prefix { $0 == $1 }.count
        let known = Set(old.ranges.dropFirst(common))
        return new.ranges.dropFirst(common).filter { !known.contains($0) }
    }
}
