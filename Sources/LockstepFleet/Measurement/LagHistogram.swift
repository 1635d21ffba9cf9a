/// Counts durations in classes whose width grows with the duration: any number of them, in the same few kilobytes.
///
/// As in HdrHistogram (Tene), each power of two is cut into equal parts, here 64: what is read off is at most 1/64 above
/// the truth.
public struct LagHistogram: Sendable, Equatable {
    private static let partBits = 6
    private var counts: [UInt64] = []
    public private(set) var count: UInt64 = 0
    /// The largest duration, exactly, in µs.
    public private(set) var max: Int64 = 0

    public init() {}

    /// Adds a duration in µs; below 0 counts as 0.
    public mutating func record(_ duration: Int64) {
        let value = Swift.max(0, duration)
        let index = Self.index(of: value)
        if index >= counts.count { counts += repeatElement(0, count: index + 1 - counts.count) }
        counts[index] += 1
        count += 1
        max = Swift.max(max, value)
    }

    /// The least duration, in µs, that is not exceeded by the share `quantile` (0…1) of all; nil where there are none.
    public func quantile(_ quantile: Double) -> Int64? {
        guard count > 0 else { return nil }
        let wanted = Swift.max(1, UInt64((quantile * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (index, number) in counts.enumerated() {
            seen += number
            if seen >= wanted { return Swift.min(Self.upperBound(of: index), max) }
        }
        return max
    }

    /// Up to 2⁶ each value has a class of its own; above, the leading seven bits tell the class.
    private static func index(of value: Int64) -> Int {
        let shift = Swift.max(0, 63 - value.leadingZeroBitCount - partBits)
        return shift << partBits + Int(value >> shift)
    }

    private static func upperBound(of index: Int) -> Int64 {
        let shift = Swift.max(0, index >> partBits - 1)
        let leading = Int64(index - shift << partBits)
        return leading << shift + (1 << shift - 1)
    }
}
