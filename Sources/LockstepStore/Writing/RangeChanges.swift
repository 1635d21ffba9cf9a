import LockstepModel

/// The changes of rows that replace one set of ranges by another, in a table whose key is the first number of a range.
struct RangeChanges: Equatable {
    /// The first numbers of rows to delete.
    private(set) var deleted: [Int64] = []
    /// The ranges of existing rows whose last number changes.
    private(set) var updated: [ClosedRange<Int64>] = []
    /// The ranges of new rows.
    private(set) var inserted: [ClosedRange<Int64>] = []

    /// Computes the changes from `old` to `new`.
    init(from old: SequenceSet, to new: SequenceSet) {
        var rest = old.ranges[...]
        for range in new.ranges {
            while let row = rest.first, row.lowerBound < range.lowerBound {
                deleted.append(row.lowerBound)
                rest.removeFirst()
            }
            if let row = rest.first, row.lowerBound == range.lowerBound {
                if row != range { updated.append(range) }
                rest.removeFirst()
            } else {
                inserted.append(range)
            }
        }
        deleted += rest.map(\.lowerBound)
    }
}
