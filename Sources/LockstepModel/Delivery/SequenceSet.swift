/// A set of batch numbers, stored as ranges.
///
/// Batch numbers mostly arrive in order, so a few ranges represent millions of numbers.
public struct SequenceSet: Hashable, Sendable {
    /// The numbers as disjoint ranges in ascending order. Two adjacent ranges are separated by at least one missing
    /// number.
    public private(set) var ranges: [ClosedRange<Int64>] = []

    /// Creates an empty set.
    public init() {}

    /// Creates a set with the numbers of all `ranges`, which may overlap and be in any order.
    public init(_ ranges: some Sequence<ClosedRange<Int64>>) {
        for range in ranges { insert(range) }
    }

    /// Whether the set is empty.
    public var isEmpty: Bool { ranges.isEmpty }
    /// The lowest number, or nil if the set is empty.
    public var first: Int64? { ranges.first?.lowerBound }
    /// The highest number, or nil if the set is empty.
    public var last: Int64? { ranges.last?.upperBound }

    /// The number of batch numbers in the set.
    public var count: Int64 { ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound + 1 } }

    /// The watermark: the highest number n such that the set contains all of 1…n, or 0 if it does not contain 1.
    public var watermark: Int64 {
        // Ignore ranges below 1: batch numbers start at 1.
        ranges.first { $0.upperBound >= 1 }.flatMap { $0.contains(1) ? $0.upperBound : nil } ?? 0
    }

    /// The numbers between 1 and ``last`` that are not in the set.
    public var gaps: SequenceSet {
        guard let last else { return SequenceSet() }
        return last >= 1 ? SequenceSet([1...last]).subtracting(self) : SequenceSet()
    }

    /// Returns whether `number` is in the set.
    public func contains(_ number: Int64) -> Bool {
        let index = firstIndex(endingAtOrAfter: number)
        return index < ranges.count && ranges[index].contains(number)
    }

    /// Inserts one number.
    public mutating func insert(_ number: Int64) { insert(number...number) }

    /// Inserts all numbers of `range`.
    public mutating func insert(_ range: ClosedRange<Int64>) {
        // Fast path: numbers that arrive in order need no search.
        if let last = ranges.last, range.lowerBound > last.upperBound {
            if range.lowerBound == last.upperBound + 1 {
                ranges[ranges.count - 1] = last.lowerBound...range.upperBound
            } else {
                ranges.append(range)
            }
            return
        }
        var start = firstIndex(endingAtOrAfter: range.lowerBound)
        if start > 0, ranges[start - 1].upperBound + 1 == range.lowerBound { start -= 1 }
        var end = start
        var merged = range
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound + 1 {
            merged = min(merged.lowerBound, ranges[end].lowerBound)...max(merged.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(merged))
    }

    /// Removes one number.
    public mutating func remove(_ number: Int64) { remove(number...number) }

    /// Removes all numbers of `range`.
    public mutating func remove(_ range: ClosedRange<Int64>) {
        let start = firstIndex(endingAtOrAfter: range.lowerBound)
        var end = start
        var kept: [ClosedRange<Int64>] = []
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
            let old = ranges[end]
            if old.lowerBound < range.lowerBound { kept.append(old.lowerBound...(range.lowerBound - 1)) }
            if old.upperBound > range.upperBound { kept.append((range.upperBound + 1)...old.upperBound) }
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: kept)
    }

    /// Inserts all numbers of `other`.
    public mutating func formUnion(_ other: SequenceSet) {
        for range in other.ranges { insert(range) }
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

    /// Returns the index of the first range whose upper bound is at least `number`, or `ranges.count`.
    private func firstIndex(endingAtOrAfter number: Int64) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
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
