/// The time windows in which a query reads. Their length follows the number of rows found.
struct QueryWindow {
    /// The numbers of rows for which the length of a window stays as it is.
    private static let goodRows = 10_000..<ClickHouseDriver.rowLimit
    /// The longest window, in µs.
    private static let maxLength: Int64 = 1 << 50

    /// The length of the first window, in µs.
    static let firstLength: Int64 = 60_000_000

    private var start: Int64
    /// The length of the next window, in µs.
    private var length = Self.firstLength

    /// - Parameter start: the start of the first window, in µs since 1970.
    init(start: Int64) { self.start = start }

    /// Returns the next window, or nil if it would start after `last`.
    mutating func next(before last: Int64) -> ClosedRange<Int64>? {
        guard start <= last else { return nil }
        let end = start.addingReportingOverflow(length - 1)
        let window = start...(end.overflow ? Int64.max : end.partialValue)
        start = window.upperBound == .max ? .max : window.upperBound + 1
        return window
    }

    /// Continues at a later time.
    mutating func skip(to time: Int64) { start = max(start, time) }

    /// Continues at an earlier time, because the last window was too long for one answer.
    mutating func resume(at time: Int64) { start = time }

    /// Adapts the length to the number of rows of the last window.
    mutating func record(rows: Int) {
        if rows < Self.goodRows.lowerBound { length = min(length * 4, Self.maxLength) }
        if rows >= Self.goodRows.upperBound { length = max(length / 4, 1_000_000) }
    }
}
