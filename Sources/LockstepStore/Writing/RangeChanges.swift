import LockstepModel

/// What has to be written so that a table of ranges, keyed by their first number, holds another set.
struct RangeChanges: Equatable {
    /// First numbers of rows that go.
    private(set) var deleted: [Int64] = []
    /// Rows that keep their first number and get another last one.
    private(set) var extended: [ClosedRange<Int64>] = []
    private(set) var inserted: [ClosedRange<Int64>] = []

    init(from old: SequenceSet, to new: SequenceSet) {
        var rest = old.ranges[...]
        for range in new.ranges {
            while let row = rest.first, row.lowerBound < range.lowerBound {
                deleted.append(row.lowerBound)
                rest.removeFirst()
            }
            if let row = rest.first, row.lowerBound == range.lowerBound {
                if row != range { extended.append(range) }
                rest.removeFirst()
            } else {
                inserted.append(range)
            }
        }
        deleted += rest.map(\.lowerBound)
    }
}
