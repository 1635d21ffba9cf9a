import Glibc
import LockstepCommandLine

/// The progress of a copy on standard error, shown only on a terminal.
struct BackupProgress {
    private let isShown = Terminal.error.isInteractive
    private var last: ContinuousClock.Instant?

    /// Shows or replaces the progress, at most ten times a second.
    mutating func show(_ copied: Int64, of all: Int64) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let last, now - last < .milliseconds(100) { return }
        last = now
        write("\r\u{1B}[K\(Self.line(copied, of: all))")
    }

    /// Removes the progress.
    func end() { if last != nil { write("\r\u{1B}[K") } }

    /// Returns the text: `copying  45 %, 36.0 of 80.0 MB`. The last percent is the check.
    static func line(_ copied: Int64, of all: Int64) -> String {
        guard copied < all else { return "checking \(size(all))" }
        let percent = "\(copied * 100 / max(1, all))"
        return
            "copying \(String(repeating: " ", count: 3 - percent.count))\(percent) %, \(megabytes(copied)) of \(size(all))"
    }

    /// Returns a size: `80.0 MB`.
    static func size(_ bytes: Int64) -> String { megabytes(bytes) + " MB" }

    private static func megabytes(_ bytes: Int64) -> String { fixed(Double(bytes) / 1e6, 1) }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
