/// The minutes of which a store keeps summaries: the number of samples, and of each column the sum, the number, the least and the
/// greatest of the known values. SQLite and ClickHouse keep them in their own ways; which part of a query they answer is the same.
///
/// A summary exists or is valid only if it is that of the samples. Samples of other minutes are read themselves.
package enum Minute {
    /// The length in µs.
    package static let length: Int64 = 60_000_000

    /// Returns the start of the minute that contains a time, in µs since 1970.
    package static func start(of time: Int64) -> Int64 {
        let rest = time % length
        // Before the first whole minute that exists, the start would overflow.
        return time &- (rest < 0 ? rest + length : rest)
    }

    /// Returns the whole minutes of a time range. It is empty if there is none.
    package static func whole(in times: Range<Int64>) -> Range<Int64> {
        let start = start(of: times.lowerBound)
        let (next, overflows) = start.addingReportingOverflow(length)
        let first = start == times.lowerBound ? start : overflows ? .max : next
        return first..<max(first, self.start(of: times.upperBound))
    }

    /// Returns the minutes that a time range touches.
    package static func around(_ times: Range<Int64>) -> Range<Int64> {
        let end = start(of: times.upperBound)
        let (next, overflows) = end.addingReportingOverflow(length)
        let first = start(of: max(times.lowerBound, .min + length))
        return first..<max(first, end == times.upperBound ? end : overflows ? .max : next)
    }

    /// Returns the ranges that contain all times, and have gaps of a minute or more between them.
    static func parts(of times: some Sequence<Int64>) -> [ClosedRange<Int64>] {
        var parts: [ClosedRange<Int64>] = []
        for time in times.sorted() {
            if let last = parts.last, time.subtractingReportingOverflow(last.upperBound).partialValue.magnitude < length
            {
                parts[parts.count - 1] = last.lowerBound...time
            } else {
                parts.append(time...time)
            }
        }
        return parts
    }

    /// Returns the parts of a time range that are in none of the minutes.
    /// - Parameter minutes: the starts of minutes in the range, in order.
    package static func gaps(in times: Range<Int64>, between minutes: some Sequence<Int64>) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        var position = times.lowerBound
        for minute in minutes {
            if position < minute { gaps.append(position..<minute) }
            position = minute + length
        }
        if position < times.upperBound { gaps.append(position..<times.upperBound) }
        return gaps
    }
}

/// The time spans of a query of averages or of an envelope.
package struct SummarySpans: Hashable, Sendable {
    /// The start of one of the spans, and the length of each, in µs.
    package let origin: Int64
    package let width: Int64

    package init(origin: Int64, width: Int64) {
        self.origin = origin
        self.width = width
    }

    /// Whether each span consists of whole minutes, apart from the limits of the query.
    var haveWholeMinutes: Bool { width % Minute.length == 0 && origin % Minute.length == 0 }

    /// Returns the start of the span that contains a time.
    package func start(of time: Int64) -> Int64 {
        let rest = (time &- origin) % width
        return time &- (rest < 0 ? rest + width : rest)
    }

    /// Returns whether a minute is within one span and within the time range of the query, so that its summary is part of the
    /// answer.
    package func contains(minute: Int64, in times: Range<Int64>) -> Bool {
        let (end, overflows) = minute.addingReportingOverflow(Minute.length)
        return !overflows && minute >= times.lowerBound && end <= times.upperBound
            && start(of: minute) == start(of: end - 1)
    }
}
