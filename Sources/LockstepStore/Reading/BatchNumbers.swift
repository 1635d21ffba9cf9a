public import LockstepModel

/// The received and dropped batch numbers of a device and epoch.
public struct BatchNumbers: Equatable, Sendable {
    /// The numbers of received batches.
    public var received = SequenceSet()
    /// The numbers of batches that the agent dropped.
    public var dropped = SequenceSet()
    /// What the device has reported about them, or nil.
    package var report: EpochReport?

    /// Creates empty sets.
    public init() {}

    /// Returns the ranges of `new` that are not ranges of `old`: those that have to be written.
    ///
    /// A range that has grown at its end replaces its earlier version in the table, because both have the same start.
    package static func ranges(of new: SequenceSet, notIn old: SequenceSet) -> [ClosedRange<Int64>] {
        // Numbers mostly grow at the end, so that the common start is long.
        let common = zip(new.ranges, old.ranges).prefix { $0 == $1 }.count
        let known = Set(old.ranges.dropFirst(common))
        return new.ranges.dropFirst(common).filter { !known.contains($0) }
    }

    /// Reads the numbers of devices, by device id and epoch. Reports about other epochs are left out.
    /// - Parameter condition: a condition on the devices' ids, or nil for all.
    package static func read(
        _ source: any StoreSource, where condition: String? = nil
    ) throws(StoreError) -> [Int64: [Epoch: BatchNumbers]] {
        let condition = condition.map { "WHERE \($0)" } ?? ""
        var numbers: [Int64: [Epoch: BatchNumbers]] = [:]
        let dialect = source.dialect
        for (table, set) in [(dialect.batches, \BatchNumbers.received), (dialect.dropped, \BatchNumbers.dropped)] {
            let rows = try source.rows(
                "SELECT device_id, epoch, first, last FROM \(table) \(condition) ORDER BY device_id, epoch, first"
            ) { row throws(StoreError) in
                let (first, last) = (row.int64(at: 2), row.int64(at: 3))
                guard let epoch = row.text(at: 1), first <= last else {
                    throw StoreError(.corrupt, "a row of \(table) is damaged: its range is \(first) to \(last)")
                }
                return (device: row.int64(at: 0), epoch: Epoch(unchecked: epoch), range: first...last)
            }
            for row in rows {
                numbers[row.device, default: [:]][row.epoch, default: BatchNumbers()][keyPath: set].insert(row.range)
            }
        }
        let reports = try source.rows("SELECT device_id, epoch, gone, before FROM \(dialect.reports) \(condition)") {
            row throws(StoreError) in
            guard let epoch = row.text(at: 1),
                let report = EpochReport(gone: row.text(at: 2) ?? "", before: row.text(at: 3) ?? "")
            else { throw StoreError(.corrupt, "a row of \(dialect.reports) is damaged") }
            return (device: row.int64(at: 0), epoch: Epoch(unchecked: epoch), report: report)
        }
        for row in reports { numbers[row.device]?[row.epoch]?.report = row.report }
        return numbers
    }
}
