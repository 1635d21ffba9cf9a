package import LockstepModel

/// What is stored of a device's reports about one epoch: the batches that it no longer has.
///
/// It is stored only if it says something that the batch numbers do not. Without it, a device may still have all batches of
/// its current epoch, and none of an earlier one.
package struct EpochReport: Hashable, Sendable {
    /// The batches that the device no longer has and that were not stored when it reported this: they are missing.
    package var gone: SequenceSet
    /// Other batches that the device no longer has. They are not missing: some other store has them. See
    /// ``changes(by:of:isNew:epochs:lowest:known:)``.
    package var before: SequenceSet

    package init(gone: SequenceSet, before: SequenceSet = SequenceSet()) {
        self.gone = gone
        self.before = before
    }

    /// All batch numbers.
    private static let all = SequenceSet([RangeLedger.validNumbers])
    /// The number of ranges of ``gone`` from which it includes the known batches, so that it has few. A report lists at most as
    /// many ranges in the outbox.
    private static let maxRanges = 1000
    /// The maximum number of epochs of a device with a report; reports about further earlier epochs are ignored. Each epoch
    /// costs memory and time, and a device can list any. It exceeds what a presence lists.
    package static let maxEpochs = 256

    /// Returns what a report changes.
    ///
    /// When a device is new to a store, the store does not have the batches that others have acknowledged before. A store
    /// cannot have lost what it has acknowledged while the process runs that has added the device. So what a device no longer
    /// has soon after that is from before the store, in all epochs: see ``RecentDevices``. If the process was restarted
    /// meanwhile, these are only the batches below all those that were received, in the first epoch, at the first report that
    /// some are gone. What goes later is missing, and in a copy of a store, everything is.
    /// - Parameters:
    ///   - report: the report.
    ///   - stored: what is stored of the device, by epoch.
    ///   - isNew: whether this process has just added the device to a store that is no copy.
    ///   - epochs: the epochs with received batches of a new device.
    ///   - lowest: returns the lowest received batch of an epoch, or `Int64.max` if there is none; nil if the store is a copy or
    ///     has another epoch of the device.
    ///   - known: returns the batches of an epoch that are stored or will never be.
    package static func changes<Failure>(
        by report: OutboxReport, of stored: [Epoch: EpochReport], isNew: Bool = false, epochs: Set<Epoch> = [],
        lowest: (Epoch) throws(Failure) -> Int64?, known: (Epoch) throws(Failure) -> SequenceSet
    ) throws(Failure) -> [Epoch: EpochReport] {
        var changes: [Epoch: EpochReport] = [:]
        let own = try known(report.epoch)
        var gone = report.gone(known: own)
        let last = stored[report.epoch]
        if gone != last?.all.subtracting(own) ?? SequenceSet() {
            if gone.rangeCount > maxRanges { gone = report.gone(known: SequenceSet()) }
            var before = last?.before ?? SequenceSet()
            if isNew {
                before.formUnion(gone.subtracting(last?.gone ?? SequenceSet()))
            } else if last == nil, let lowest = try lowest(report.epoch), lowest > 1 {
                before = gone.intersection(SequenceSet([1...lowest - 1]))
            }
            changes[report.epoch] = EpochReport(gone: gone.subtracting(before), before: before)
        }
        // Without a number, the report is only about its own epoch.
        guard report.seq != nil else { return changes }
        var room = maxEpochs - Set(stored.keys).union(changes.keys).count
        let others = Set(report.pending.keys).union(stored.keys).union(isNew ? epochs : [])
        for epoch in others where epoch != report.epoch {
            let last = stored[epoch]
            guard last != nil || room > 0 else { continue }
            let pending = report.pending[epoch] ?? SequenceSet()
            let known = try known(epoch)
            let gone = all.subtracting(pending)
            let relevant = pending.union(last.map { all.subtracting($0.all) } ?? SequenceSet()).subtracting(known)
            // Without a row, all batches that are not stored are missing.
            guard
                relevant.intersection(gone) != relevant.intersection(last?.all ?? all)
                    || isNew && last == nil && !known.union(pending).gaps.isEmpty
            else { continue }
            if last == nil { room -= 1 }
            var before = last?.before ?? SequenceSet()
            if isNew, let highest = known.union(pending).last {
                before.formUnion(gone.intersection(SequenceSet([1...highest])).subtracting(last?.gone ?? SequenceSet()))
            }
            changes[epoch] = EpochReport(gone: gone.subtracting(before), before: before)
        }
        return changes
    }

    /// All batches that the device no longer has.
    private var all: SequenceSet { gone.union(before) }

    /// The ranges of a set as JSON: `[[1,84],[90,90]]`.
    package static func json(_ batches: SequenceSet) -> String {
        "[" + batches.ranges.map { "[\($0.lowerBound),\($0.upperBound)]" }.joined(separator: ",") + "]"
    }

    /// Reads what ``json(_:)`` returns, or nil if a text is damaged.
    package init?(gone: String, before: String) {
        guard let gone = Self.batches(gone), let before = Self.batches(before) else { return nil }
        self.init(gone: gone, before: before)
    }

    private static func batches(_ json: String) -> SequenceSet? {
        guard json.hasPrefix("["), json.hasSuffix("]") else { return nil }
        let numbers = json.split(whereSeparator: { "[],".contains($0) }).map { Int64($0) }
        guard numbers.count.isMultiple(of: 2) else { return nil }
        var batches = SequenceSet()
        for index in stride(from: 0, to: numbers.count, by: 2) {
            guard let first = numbers[index], let last = numbers[index + 1], 1 <= first, first <= last else {
                return nil
            }
            batches.insert((first...last).clamped(to: RangeLedger.validNumbers))
        }
        return batches
    }
}
