import Glibc
import LockstepCommandLine
import LockstepExport
import LockstepModel

/// A progress bar on standard error, shown only on a terminal.
struct ExportProgress {
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var last: ContinuousClock.Instant?

    /// - Parameter isShown: false if the file itself is written to the terminal.
    init(isShown: Bool) { self.isShown = isShown && Terminal.error.isInteractive }

    /// Shows or replaces the bar, at most ten times a second.
    mutating func show(_ progress: SampleExport.Progress, bytes: Int64) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let last, now - last < .milliseconds(100) { return }
        last = now
        write("\r\u{1B}[K" + Self.line(progress, bytes: bytes, elapsed: start.duration(to: now)))
    }

    /// Removes the bar.
    func end() { if last != nil { write("\r\u{1B}[K") } }

    /// Returns the bar: `[#########-----------]  45 %, 120000 samples, 8 MB, 12 s left`.
    static func line(_ progress: SampleExport.Progress, bytes: Int64, elapsed: Duration) -> String {
        let width = 20
        let fraction = min(max(progress.fraction, 0), 1)
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        let percent = String(Int(fraction * 100))
        let left = fraction > 0.01 ? ", \(Int((elapsed / .seconds(1)) * (1 - fraction) / fraction)) s left" : ""
        return "[\(bar)] \(String(repeating: " ", count: 3 - percent.count))\(percent) %, "
            + "\(counted(progress.samples, "sample")), \(bytes >> 20) MB\(left)"
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
