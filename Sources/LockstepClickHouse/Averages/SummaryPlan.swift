/// Which samples a query reads besides summaries of minutes.
enum SummaryPlan {
    /// The maximum total length in µs of ranges whose rows are not counted before they are read.
    static let shortRange: Int64 = 3_600_000_000
    /// The maximum number of ranges of one statement.
    static let maxRanges = 500

    /// Returns whether ranges are so short that their samples are read at once without being counted.
    static func areShort(_ ranges: [Range<Int64>]) -> Bool {
        guard ranges.count <= maxRanges else { return false }
        var total: Int64 = 0
        for range in ranges {
            let (length, isLong) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
            let (sum, overflows) = total.addingReportingOverflow(length)
            guard !isLong, !overflows, sum <= shortRange else { return false }
            total = sum
        }
        return true
    }

    /// Divides ranges, which are in order, into groups that are read together: of at most `maxRows` rows, if no counted part
    /// has more. What has no rows is left out.
    /// - Parameters:
    ///   - counts: the number of rows of each counted part that has any, in order.
    ///   - length: the length of a counted part in µs.
    static func groups(
        _ ranges: [Range<Int64>], _ counts: [(part: Int64, rows: Int64)], length: Int64, maxRows: Int64
    ) -> [[Range<Int64>]] {
        var groups: [[Range<Int64>]] = []
        var total: Int64 = 0
        var index = 0
        /// The range to which the last one of the last group belongs.
        var lastIndex: Int?
        for (part, rows) in counts {
            let start = part.multipliedReportingOverflow(by: length)
            let end = (part + 1).multipliedReportingOverflow(by: length)
            let (lower, upper) = (start.overflow ? .min : start.partialValue, end.overflow ? .max : end.partialValue)
            while index < ranges.count, ranges[index].upperBound <= lower { index += 1 }
            var position = index
            // The rows may be in any of the ranges that the part overlaps. They count for the first one.
            var rest = rows
            while position < ranges.count, ranges[position].lowerBound < upper {
                let range = max(ranges[position].lowerBound, lower)..<min(ranges[position].upperBound, upper)
                let isFull = groups.isEmpty || total + rest > maxRows
                if !isFull, lastIndex == position, let last = groups[groups.count - 1].last {
                    groups[groups.count - 1][groups[groups.count - 1].count - 1] = last.lowerBound..<range.upperBound
                    total += rest
                } else if !isFull, groups[groups.count - 1].count < maxRanges {
                    groups[groups.count - 1].append(range)
                    total += rest
                } else {
                    groups.append([range])
                    total = rest
                }
                lastIndex = position
                rest = 0
                position += 1
            }
        }
        return groups
    }
}
