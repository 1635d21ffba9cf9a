/// Which samples a query reads besides summaries of minutes.
enum SummaryPlan {
    /// The longest time range that is read together with others, in µs, and their maximum total length.
    static let shortRange: Int64 = 3_600_000_000
    /// The maximum number of ranges of one statement.
    static let maxRanges = 200

    /// Returns whether a minute is within one span of a query and within its time range.
    static func contains(_ select: SummarySelect, _ times: Range<Int64>, minute: Int64) -> Bool {
        let (end, overflows) = minute.addingReportingOverflow(Minute.length)
        return !overflows && minute >= times.lowerBound && end <= times.upperBound
            && select.start(of: minute) == select.start(of: end - 1)
    }

    /// Returns the parts of a time range that are in none of the minutes.
    /// - Parameter minutes: the starts of minutes in the range, in order.
    static func gaps(in times: Range<Int64>, between minutes: [Int64]) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var position = times.lowerBound
        for minute in minutes {
            if position < minute { gaps.append(position..<minute) }
            position = minute + Minute.length
        }
        if position < times.upperBound { gaps.append(position..<times.upperBound) }
        return gaps
    }

    /// Divides ranges, which are in order, into groups that are read together. A long range is a group of its own.
    static func groups(_ ranges: [Range<Int64>]) -> [[Range<Int64>]] {
        var groups: [[Range<Int64>]] = []
        var total: Int64 = 0
        for range in ranges {
            let (length, overflows) = range.upperBound.subtractingReportingOverflow(range.lowerBound)
            let isShort = !overflows && length <= shortRange
            if isShort, let last = groups.last, last.count < maxRanges, total + length <= shortRange {
                groups[groups.count - 1].append(range)
                total += length
            } else {
                groups.append([range])
                // Nothing is added to a long range.
                total = isShort ? length : shortRange
            }
        }
        return groups
    }

    /// Divides a long range into parts of at most `maxRows` rows, if no counted part has more.
    /// - Parameter counts: the number of rows of each counted part that has any, in order.
    static func parts(
        of range: Range<Int64>, _ counts: [(part: Int64, rows: Int64)], maxRows: Int64
    ) -> [Range<Int64>] {
        var parts: [(times: Range<Int64>, rows: Int64)] = []
        for (part, rows) in counts {
            let start = part.multipliedReportingOverflow(by: SummarySelect.countedPart)
            let end = (part + 1).multipliedReportingOverflow(by: SummarySelect.countedPart)
            let lower = max(range.lowerBound, start.overflow ? .min : start.partialValue)
            let upper = max(lower, min(range.upperBound, end.overflow ? .max : end.partialValue))
            if let last = parts.last, last.rows + rows <= maxRows {
                parts[parts.count - 1] = (last.times.lowerBound..<upper, last.rows + rows)
            } else {
                parts.append((lower..<upper, rows))
            }
        }
        return parts.map(\.times)
    }
}
