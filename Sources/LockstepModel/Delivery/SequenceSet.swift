/// A set of batch numbers kept as ranges: what was received, what waits, what is missing.
///
/// Batch numbers come mostly in order, so a few ranges hold millions of them.
public struct SequenceSet: Hashable, Sendable {
    /// Disjoint, ascending, with at least one number between neighbours.
    public private(set) var ranges: [ClosedRange<Int64>] = []

    public init() {}

    public init(_ ranges: some Sequence<ClosedRange<Int64>>) {
        for range in ranges { insert(range) }
    }

    public var isEmpty: Bool { ranges.isEmpty }
    public var first: Int64? { ranges.first?.lowerBound }
    public var last: Int64? { ranges.last?.upperBound }

    /// How many numbers there are.
    public var count: Int64 { ranges.reduce(0) { $0 + $1.upperBound - $1.lowerBound + 1 } }

    /// The highest number below which, itself included, everything from 1 on is in the set; 0 where 1 is not.
    public var watermark: Int64 {
        // It is the first range but for numbers below 1, which no batch has.
        ranges.first { $0.upperBound >= 1 }.flatMap { $0.contains(1) ? $0.upperBound : nil } ?? 0
    }

    /// The numbers from 1 to the highest that are not in the set.
    public var gaps: SequenceSet {
        guard let last else { return SequenceSet() }
        return last >= 1 ? SequenceSet([1...last]).subtracting(self) : SequenceSet()
    }

    public func contains(_ number: Int64) -> Bool {
        let index = firstIndex(endingAtOrAfter: number)
        return index < ranges.count && ranges[index].contains(number)
    }

    public mutating func insert(_ number: Int64) { insert(number...number) }

    public mutating func insert(_ range: ClosedRange<Int64>) {
        // In order is the common case and costs no search.
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

    public mutating func remove(_ number: Int64) { remove(number...number) }

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

    public mutating func formUnion(_ other: SequenceSet) {
        for range in other.ranges { insert(range) }
    }

    public func union(_ other: SequenceSet) -> SequenceSet {
        var result = self
        result.formUnion(other)
        return result
    }

    public mutating func subtract(_ other: SequenceSet) {
        for range in other.ranges { remove(range) }
    }

    public func subtracting(_ other: SequenceSet) -> SequenceSet {
        var result = self
        result.subtract(other)
        return result
    }

    public func intersection(_ other: SequenceSet) -> SequenceSet { subtracting(subtracting(other)) }

    /// The index of the first range that ends at `number` or later.
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
    /// `1-40, 42, 50-61`.
    public var description: String {
        ranges.map { $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ", ")
    }
}
