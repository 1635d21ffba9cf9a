import LockstepModel

/// The member `pending` of a presence: `{"EPOCH":[[from,to],…],…}`.
enum PendingJSON {
    /// The maximum number of epochs. Further ones are not sent, and are ignored in a received message. An agent begins one at
    /// each start, so a device that was offline for long has many.
    static let maxEpochs = 250
    /// The maximum number of ranges in all epochs. Beyond it, the last range of an epoch extends to its highest number.
    static let maxRanges = 1000

    /// - Parameter current: the epoch of the presence. It is never left out.
    static func encode(_ pending: [Epoch: SequenceSet], current: Epoch?, into object: inout JSONObjectWriter) {
        let epochs = pending.sorted { ($0.key == current ? 0 : 1, $0.key) < ($1.key == current ? 0 : 1, $1.key) }
            .prefix(maxEpochs).sorted { $0.key < $1.key }
        let limit = maxRanges / max(1, epochs.count)
        object.member("pending") { object in
            for (epoch, batches) in epochs { object.member(epoch.rawValue, ranges: limited(batches.ranges, limit)) }
        }
    }

    /// Returns at most `limit` ranges, of which the last one includes the rest: it is better to call a batch on its way for a
    /// while than to report it as missing although the device has it.
    private static func limited(_ ranges: [ClosedRange<Int64>], _ limit: Int) -> [ClosedRange<Int64>] {
        guard ranges.count > limit, let last = ranges.last else { return ranges }
        return ranges.prefix(limit - 1) + [ranges[limit - 1].lowerBound...last.upperBound]
    }

    static func decode(_ wire: [String: [[Int64]]]) throws(PayloadError) -> [Epoch: SequenceSet] {
        var pending: [Epoch: SequenceSet] = [:]
        var rest = maxRanges
        for (name, pairs) in wire.sorted(by: { $0.key < $1.key }).prefix(maxEpochs) {
            var ranges: [ClosedRange<Int64>] = []
            for pair in pairs.prefix(rest) {
                guard let range = range(pair) else {
                    throw PayloadError("'pending' must have lists of pairs [from, to] of batch numbers")
                }
                ranges.append(range)
            }
            rest -= ranges.count
            // A `SequenceSet` inserts sorted ranges fastest.
            let batches = SequenceSet(ranges.sorted { $0.lowerBound < $1.lowerBound })
            if !batches.isEmpty { pending[try Epoch.read(.string(name), at: "pending")] = batches }
        }
        return pending
    }

    /// Returns the range of a pair [from, to] of batch numbers, or nil if it is none.
    static func range(_ pair: [Int64]) -> ClosedRange<Int64>? {
        guard pair.count == 2, pair[0] >= 1, pair[0] <= pair[1], pair[1] < 1 << 53 else { return nil }
        return pair[0]...pair[1]
    }
}
