/// A set of batch numbers, stored as ranges.
///
/// Batch numbers mostly arrive in order, so a few ranges represent millions of numbers.
public struct SequenceSet: Hashable, Sendable {
    /// Most sets have one range, which needs no memory of its own. A collector has several sets for each device.
    private enum Storage: Hashable, Sendable {
        case empty
        case one(ClosedRange<Int64>)
        /// At least two ranges.
        case several([ClosedRange<Int64>])
    }

    private var storage = Storage.empty

    /// The numbers as disjoint ranges in ascending order. Two adjacent ranges are separated by at least one missing
    /// number.
    public var ranges: [ClosedRange<Int64>] {
        switch storage {
        case .empty: []
        case .one(let range): [range]
        case .several(let ranges): ranges
        }
    }

    /// Creates an empty set.
    public init() {}

    /// Creates a set with the numbers of all `ranges`, which may overlap and be in any order.
    public init(_ ranges: some Sequence<ClosedRange<Int64>>) {
        for range in ranges { insert(range) }
    }

    /// Whether the set is empty.
    public var isEmpty: Bool { if case .empty = storage { true } else { false } }
    /// Whether the set has numbers, and none between them is missing.
    public var isContiguous: Bool { if case .one = storage { true } else { false } }

    /// The lowest number, or nil if the set is empty.
    public var first: Int64? {
        switch storage {
        case .empty: nil
        case .one(let range): range.lowerBound
        case .several(let ranges): ranges.first?.lowerBound
        }
    }

    /// The highest number, or nil if the set is empty.
    public var last: Int64? {
        switch storage {
        case .empty: nil
        case .one(let range): range.upperBound
        case .several(let ranges): ranges.last?.upperBound
        }
    }

    /// The number of ranges.
    public var rangeCount: Int {
        switch storage {
        case .empty: 0
        case .one: 1
        case .several(let ranges): ranges.count
        }
    }

    /// The number of batch numbers in the set.
    public var count: Int64 {
        switch storage {
        case .empty: 0
        case .one(let range): range.upperBound - range.lowerBound + 1
        case .several(let ranges): ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound + 1 }
        }
    }

    /// The watermark: the highest number n such that the set contains all of 1…n, or 0 if it does not contain 1.
    public var watermark: Int64 {
        // Ignore ranges below 1: batch numbers start at 1.
        let first =
            switch storage {
            case .empty: ClosedRange<Int64>?.none
            case .one(let range): range
            case .several(let ranges): ranges.first { $0.upperBound >= 1 }
            }
        return first.flatMap { $0.contains(1) ? $0.upperBound : nil } ?? 0
    }

    /// The numbers between 1 and ``last`` that are not in the set.
    public var gaps: SequenceSet {
        guard let last else { return SequenceSet() }
        return last >= 1 ? SequenceSet([1...last]).subtracting(self) : SequenceSet()
    }

    /// Returns whether `number` is in the set.
    public func contains(_ number: Int64) -> Bool {
        switch storage {
        case .empty: return false
        case .one(let range): return range.contains(number)
        case .several(let ranges):
            let index = ranges.firstIndex(endingAtOrAfter: number)
            return index < ranges.count && ranges[index].contains(number)
        }
    }

    /// Returns whether any number of `range` is in the set.
    public func overlaps(_ range: ClosedRange<Int64>) -> Bool {
        switch storage {
        case .empty: return false
        case .one(let known): return known.overlaps(range)
        case .several(let ranges):
            let index = ranges.firstIndex(endingAtOrAfter: range.lowerBound)
            return index < ranges.count && ranges[index].lowerBound <= range.upperBound
        }
    }

    /// Inserts one number.
    public mutating func insert(_ number: Int64) { insert(number...number) }

    /// Inserts all numbers of `range`.
    public mutating func insert(_ range: ClosedRange<Int64>) {
        switch storage {
        case .empty: storage = .one(range)
        case .one(let known):
            if let union = known.union(touching: range) {
                storage = .one(union)
            } else {
                storage = .several(known.lowerBound < range.lowerBound ? [known, range] : [range, known])
            }
        case .several: changeRanges { $0.insert(range) }
        }
    }

    /// Changes the list of ranges, without a copy of it.
    private mutating func changeRanges(_ body: (inout [ClosedRange<Int64>]) -> Void) {
        var ranges = ranges
        storage = .empty
        body(&ranges)
        storage = ranges.count > 1 ? .several(ranges) : ranges.first.map { .one($0) } ?? .empty
    }

    /// Removes one number.
    public mutating func remove(_ number: Int64) { remove(number...number) }

    /// Removes all numbers of `range`.
    public mutating func remove(_ range: ClosedRange<Int64>) {
        switch storage {
        case .empty: break
        case .one(let known) where !known.overlaps(range): break
        case .one, .several: changeRanges { $0.remove(range) }
        }
    }

    /// Inserts all numbers of `other`.
    public mutating func formUnion(_ other: SequenceSet) {
        switch other.storage {
        case .empty: break
        case .one(let range): insert(range)
        case .several(let ranges): for range in ranges { insert(range) }
        }
    }

    /// Returns the numbers that are in this set, in `other`, or in both.
    public func union(_ other: SequenceSet) -> SequenceSet {
        var result = self
        result.formUnion(other)
        return result
    }

    /// Removes all numbers of `other`.
    public mutating func subtract(_ other: SequenceSet) {
        for range in other.ranges { remove(range) }
    }

    /// Returns the numbers of this set that are not in `other`.
    public func subtracting(_ other: SequenceSet) -> SequenceSet {
        var result = self
        result.subtract(other)
        return result
    }

    /// Returns the numbers that are in both sets.
    public func intersection(_ other: SequenceSet) -> SequenceSet { subtracting(subtracting(other)) }
}

extension ClosedRange<Int64> {
    /// Returns the numbers of two ranges, or nil if a number between them is missing.
    fileprivate func union(touching other: ClosedRange<Int64>) -> ClosedRange<Int64>? {
        let (low, high) = lowerBound <= other.lowerBound ? (self, other) : (other, self)
        guard high.lowerBound <= low.upperBound || high.lowerBound - 1 == low.upperBound else { return nil }
        return low.lowerBound...Swift.max(low.upperBound, high.upperBound)
    }
}

extension [ClosedRange<Int64>] {
    fileprivate mutating func insert(_ range: ClosedRange<Int64>) {
        // Fast path: numbers that arrive in order need no search.
        if let last, range.lowerBound > last.upperBound {
            if range.lowerBound == last.upperBound + 1 {
                self[count - 1] = last.lowerBound...range.upperBound
            } else {
                append(range)
            }
            return
        }
        var start = firstIndex(endingAtOrAfter: range.lowerBound)
        if start > 0, self[start - 1].upperBound + 1 == range.lowerBound { start -= 1 }
        var end = start
        var merged = range
        while end < count, self[end].lowerBound <= range.upperBound + 1 {
            merged =
                Swift.min(merged.lowerBound, self[end].lowerBound)...Swift.max(merged.upperBound, self[end].upperBound)
            end += 1
        }
        replaceSubrange(start..<end, with: CollectionOfOne(merged))
    }

    fileprivate mutating func remove(_ range: ClosedRange<Int64>) {
        let start = firstIndex(endingAtOrAfter: range.lowerBound)
        var end = start
        var kept: [ClosedRange<Int64>] = []
        while end < count, self[end].lowerBound <= range.upperBound {
            let old = self[end]
            if old.lowerBound < range.lowerBound { kept.append(old.lowerBound...(range.lowerBound - 1)) }
            if old.upperBound > range.upperBound { kept.append((range.upperBound + 1)...old.upperBound) }
            end += 1
        }
        replaceSubrange(start..<end, with: kept)
    }

    /// Returns the index of the first range whose upper bound is at least `number`, or the number of ranges.
    fileprivate func firstIndex(endingAtOrAfter number: Int64) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension SequenceSet: CustomStringConvertible {
    /// The ranges as a list: `1-40, 42, 50-61`.
    public var description: String {
        ranges.map { $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }
}
