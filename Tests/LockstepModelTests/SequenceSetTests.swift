import LockstepModel
import SensorTestSupport
import Testing

@Suite("SequenceSet")
struct SequenceSetTests {
    @Test("adjacent numbers are merged, whatever the order of insertion")
    func merging() {
        var set = SequenceSet()
        for number in [5, 1, 3, 2, 4, 7] as [Int64] { set.insert(number) }
        #expect(set.ranges == [1...5, 7...7])
        set.insert(6...6)
        #expect(set.ranges == [1...7])
        #expect(SequenceSet([8...9, 1...3, 2...7]).ranges == [1...9])
    }

    @Test("removing numbers splits a range")
    func splitting() {
        var set = SequenceSet([1...10])
        set.remove(4...6)
        #expect(set.ranges == [1...3, 7...10])
        set.remove(10)
        set.remove(1)
        set.remove(99)
        #expect(set.ranges == [2...3, 7...9])
        #expect(set.count == 5)
    }

    @Test(
        "the watermark is the highest number without gaps below it",
        arguments: [
            ([], 0), ([1...1], 1), ([2...9], 0), ([1...4, 6...9], 4), ([0...4], 4), ([-5...0], 0),
        ] as [([ClosedRange<Int64>], Int64)])
    func watermark(_ ranges: [ClosedRange<Int64>], _ expected: Int64) {
        #expect(SequenceSet(ranges).watermark == expected)
    }

    @Test(
        "gaps are the numbers missing between 1 and the highest number",
        arguments: [
            ([], []), ([1...9], []), ([3...4], [1...2]), ([1...2, 5...5, 9...9], [3...4, 6...8]), ([-3...0], []),
        ] as [([ClosedRange<Int64>], [ClosedRange<Int64>])])
    func gaps(_ ranges: [ClosedRange<Int64>], _ expected: [ClosedRange<Int64>]) {
        #expect(SequenceSet(ranges).gaps.ranges == expected)
    }

    @Test("the watermark ignores numbers below 1")
    func negativeWatermark() {
        #expect(SequenceSet([-5...(-3), 1...9]).watermark == 9)
    }

    @Test("the number of ranges, and whether a range overlaps one")
    func ranges() {
        var set = SequenceSet()
        #expect(set.rangeCount == 0 && !set.overlaps(1...9))
        set.insert(3...5)
        #expect(set.rangeCount == 1 && set.overlaps(5...9) && set.overlaps(1...3) && !set.overlaps(6...9))
        set.insert(9...9)
        #expect(set.rangeCount == 2)
        #expect(set.overlaps(6...9) && set.overlaps(4...4) && !set.overlaps(6...8) && !set.overlaps(10...99))
    }

    @Test("the description lists the ranges")
    func description() {
        #expect(SequenceSet([1...40, 42...42, 50...61]).description == "1-40, 42, 50-61")
        #expect(SequenceSet().description.isEmpty)
    }

    @Test("billions of numbers are stored as one range")
    func large() {
        var set = SequenceSet([1...9_007_199_254_740_991])
        set.remove(1_000_000_000_000)
        #expect(set.count == 9_007_199_254_740_990)
        #expect(set.gaps.ranges == [1_000_000_000_000...1_000_000_000_000])
        #expect(set.contains(9_007_199_254_740_991) && !set.contains(1_000_000_000_000))
    }

    @Test("the highest 64-bit number can be inserted")
    func highest() {
        var set = SequenceSet()
        set.insert(.max)
        set.remove(.min)
        #expect(set.ranges == [Int64.max...Int64.max])
    }

    @Test("random operations give the same result as on a Swift Set")
    func randomized() {
        var (random, seed) = seeded("sequence set")
        var set = SequenceSet()
        var plain: Set<Int64> = []
        var other = SequenceSet()
        var plainOther: Set<Int64> = []
        for step in 0..<4000 {
            let low = Int64.random(in: 1...120, using: &random)
            let range = low...(low + (random.next() % UInt64(3) == 0 ? 0 : .random(in: 0...12, using: &random)))
            switch random.next() % UInt64(9) {
            case 0, 1, 2:
                set.insert(range)
                plain.formUnion(range)
            case 3, 4:
                set.remove(range)
                plain.subtract(range)
            case 5:
                other = SequenceSet([range])
                plainOther = Set(range)
            case 6:
                other.insert(range)
                plainOther.formUnion(range)
            case 7:
                (set, plain) =
                    random.next() % UInt64(2) == 0
                    ? (set.union(other), plain.union(plainOther))
                    : (set.subtracting(other), plain.subtracting(plainOther))
            default:
                #expect(Self.numbers(set.intersection(other)) == plain.intersection(plainOther), "seed \(seed)")
            }
            guard Self.agree(set, plain) else {
                Issue.record("seed \(seed), step \(step): \(set) is not \(plain.sorted())")
                return
            }
        }
    }

    private static func numbers(_ set: SequenceSet) -> Set<Int64> { Set(set.ranges.flatMap { Array($0) }) }

    private static func agree(_ set: SequenceSet, _ plain: Set<Int64>) -> Bool {
        var watermark: Int64 = 0
        while plain.contains(watermark + 1) { watermark += 1 }
        let gaps = plain.max().map { Set(1...$0).subtracting(plain) } ?? []
        return numbers(set) == plain && set.count == plain.count && set.first == plain.min() && set.last == plain.max()
            && set.isEmpty == plain.isEmpty && set.watermark == watermark && numbers(set.gaps) == gaps
            && (0...140).allSatisfy { set.contains($0) == plain.contains($0) }
            && zip(set.ranges, set.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound }
            && set == SequenceSet(plain.shuffled().map { $0...$0 })
    }
}
