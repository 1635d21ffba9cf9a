import Glibc
import LockstepCommandLine
import LockstepModel

/// A progress line on standard error, shown only on a terminal.
struct RefineProgress {
    private let isShown = Terminal.error.isInteractive
    private let range: Range<Int64>
    private var last: ContinuousClock.Instant?

    /// - Parameter range: the times of the rows, in µs since 1970.
    init(_ range: Range<Int64>) { self.range = range }

    /// Shows or replaces the line, at most ten times a second.
    /// - Parameter time: the time of the newest row, in µs since 1970.
    mutating func show(_ time: Int64) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let last, now - last < .milliseconds(100) { return }
        last = now
        write("\r\u{1B}[K" + Self.line(time, of: range))
    }

    /// Removes the line.
    func end() { if last != nil { write("\r\u{1B}[K") } }

    /// Returns the line: ` 45 %, computed to 2027-01-15T08:00:00Z`.
    static func line(_ time: Int64, of range: Range<Int64>) -> String {
        let fraction = Double(time - range.lowerBound) / Double(range.upperBound - range.lowerBound)
        let percent = String(Int(min(max(fraction, 0), 1) * 100))
        return String(repeating: " ", count: 3 - percent.count)
            + "\(percent) %, computed to \(Timestamp(microseconds: time).iso8601Seconds)"
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
