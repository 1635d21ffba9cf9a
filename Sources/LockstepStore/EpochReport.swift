package import LockstepModel

/// What is stored of a device's reports about one epoch: the batches that it no longer has.
///
/// It is stored only if it says something that the batch numbers do not. Without it, a device may still have all batches of
/// its current epoch, and none of an earlier one.
package struct EpochReport: Hashable, Sendable {
    /// The batches that the device no longer has and that were not stored when it reported this.
    package var gone: SequenceSet
    /// The batches of `gone` below this number are not missing: some other store has them. See ``changes(by:of:lowest:known:)``.
    package var origin: Int64

    package init(gone: SequenceSet, origin: Int64 = 1) {
        self.gone = gone
        self.origin = origin
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
    /// When a device is new to a store, the store does not have the batches that others have acknowledged before. These are the
    /// batches below all those that it has received, in the first epoch that it receives, which the device no longer has when
    /// it first reports this. An agent removes a batch only after the acknowledgement of a store that has it, so this store has
    /// not lost them, unless it is a copy of one that had them.
    /// - Parameters:
    ///   - report: the report.
    ///   - stored: what is stored of the device, by epoch.
    ///   - lowest: returns the lowest received batch of an epoch, or `Int64.max` if there is none; nil if the store is a copy or
    ///     has another epoch of the device.
    ///   - known: returns the batches of an epoch that are stored or will never be.
    package static func changes<Failure>(
        by report: OutboxReport, of stored: [Epoch: EpochReport], lowest: (Epoch) throws(Failure) -> Int64?,
        known: (Epoch) throws(Failure) -> SequenceSet
    ) throws(Failure) -> [Epoch: EpochReport] {
        var changes: [Epoch: EpochReport] = [:]
        let own = try known(report.epoch)
        let gone = report.gone(known: own)
        let before = stored[report.epoch]
        if gone != before?.gone.subtracting(own) ?? SequenceSet() {
            var new = EpochReport(gone: gone, origin: before?.origin ?? 1)
            if gone.rangeCount > maxRanges { new.gone = report.gone(known: SequenceSet()) }
            if before == nil, let lowest = try lowest(report.epoch) {
                new.origin = (gone.ranges.last { $0.upperBound < lowest }?.upperBound ?? 0) + 1
            }
            changes[report.epoch] = new
        }
        // Without a number, the report is only about its own epoch.
        guard report.seq != nil else { return changes }
        var room = maxEpochs - Set(stored.keys).union(changes.keys).count
        for epoch in Set(report.pending.keys).union(stored.keys) where epoch != report.epoch {
            guard stored[epoch] != nil || room > 0 else { continue }
            let pending = report.pending[epoch] ?? SequenceSet()
            let new = all.subtracting(pending)
            let before = stored[epoch]
            let relevant = try pending.union(before.map { all.subtracting($0.gone) } ?? SequenceSet())
                .subtracting(known(epoch))
            guard relevant.intersection(new) != relevant.intersection(before?.gone ?? all) else { continue }
            if before == nil { room -= 1 }
            changes[epoch] = EpochReport(gone: new, origin: before?.origin ?? 1)
        }
        return changes
    }

    /// The ranges of ``gone`` as JSON: `[[1,84],[90,90]]`.
    package var json: String {
        "[" + gone.ranges.map { "[\($0.lowerBound),\($0.upperBound)]" }.joined(separator: ",") + "]"
    }

    /// Reads what ``json`` returns, or nil if the text is damaged.
    package init?(json: String, origin: Int64) {
        guard json.hasPrefix("["), json.hasSuffix("]") else { return nil }
        let numbers = json.split(whereSeparator: { "[],".contains($0) }).map { Int64($0) }
        guard numbers.count.isMultiple(of: 2) else { return nil }
        var gone = SequenceSet()
        for index in stride(from: 0, to: numbers.count, by: 2) {
            guard let first = numbers[index], let last = numbers[index + 1], 1 <= first, first <= last else {
                return nil
            }
            gone.insert((first...last).clamped(to: RangeLedger.validNumbers))
        }
        self.init(gone: gone, origin: max(1, origin))
    }
}
