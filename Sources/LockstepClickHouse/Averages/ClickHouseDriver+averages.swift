import LockstepModel
import LockstepStore

// Averages and envelopes, from the summaries of minutes where these are valid, and from samples elsewhere.

extension ClickHouseDriver {
    /// The length in µs of the time range whose minutes are read at once.
    private static let minuteWindow: Int64 = 30 * 86_400_000_000

    /// Reads the summaries of the spans with samples, in order.
    /// - Parameter each: receives a span; it returns false to end the query.
    func summaries(
        _ select: SummarySelect, _ times: Range<Int64>, _ each: (SummarySelect.Row) throws -> Bool
    ) throws {
        func returnRow(_ row: SummarySelect.Row) throws -> Bool {
            summarised += row.summarised
            return try each(row)
        }
        var spans = SpanSummaries(select)
        for window in try windows(select, times) {
            var minutes: [SummarySelect.Row] = []
            if window.hasMinutes {
                // A minute that begins before the window ends within it.
                minutes = try rows(select, select.minutes(in: window.times))
                    .filter { select.spans.contains(minute: $0.start, in: times) }
                for index in minutes.indices { minutes[index].summarised = minutes[index].samples }
            }
            let gaps = Minute.gaps(in: window.times, between: minutes.map(\.start))
            var added = 0
            for group in try groups(gaps, in: window.times, select) {
                let end = group.last?.upperBound ?? .min
                while added < minutes.count, minutes[added].start < end {
                    spans.add(minutes[added])
                    added += 1
                }
                for row in try rows(select, select.samples(in: group)) { spans.add(row) }
                for span in spans.take(through: end) { guard try returnRow(span) else { return } }
            }
            for minute in minutes[added...] { spans.add(minute) }
            for span in spans.take(through: window.times.upperBound) { guard try returnRow(span) else { return } }
        }
        for span in spans.take() { guard try returnRow(span) else { return } }
    }

    /// Divides a time range at whole minutes: before, within and after the range that has summaries.
    private func windows(
        _ select: SummarySelect, _ times: Range<Int64>
    ) throws(StoreError) -> [(times: Range<Int64>, hasMinutes: Bool)] {
        guard !times.isEmpty else { return [] }
        guard select.spans.width >= Minute.length, try hasTable(select.stream.minuteTable),
            let extent = try client.extent(of: select.stream.minuteTable, select.condition([times]))
        else { return [(times, false)] }
        let first = extent.lowerBound
        let (sum, overflows) = extent.upperBound.addingReportingOverflow(Minute.length)
        let end = overflows ? times.upperBound : min(sum, times.upperBound)
        var windows: [(times: Range<Int64>, hasMinutes: Bool)] = []
        if times.lowerBound < first { windows.append((times.lowerBound..<first, false)) }
        var position = first
        while position < end {
            let (sum, overflows) = position.addingReportingOverflow(Self.minuteWindow)
            let next = overflows ? end : min(sum, end)
            windows.append((position..<next, true))
            position = next
        }
        if end < times.upperBound { windows.append((end..<times.upperBound, false)) }
        return windows
    }

    /// Returns the ranges of each statement that reads samples.
    /// - Parameter gaps: the parts of the window without a summary.
    private func groups(
        _ gaps: [Range<Int64>], in window: Range<Int64>, _ select: SummarySelect
    ) throws(StoreError) -> [[Range<Int64>]] {
        guard !SummaryPlan.areShort(gaps) else { return gaps.isEmpty ? [] : [gaps] }
        // Several gaps are those between minutes, in a window of limited length.
        guard gaps.count > 1 else { return try select.groups(gaps, client) }
        let counted = gaps.count <= SummaryPlan.maxRanges ? gaps : [window]
        return try select.groups(gaps, counted: counted, length: Minute.length, client)
    }

    private func rows(_ select: SummarySelect, _ statement: String) throws(StoreError) -> [SummarySelect.Row] {
        try client.binary(statement) { reader in try select.row(&reader) }
    }
}
