import Glibc

/// A line on standard error that shows progress, only on a terminal.
public struct ProgressLine {
    private let isShown: Bool
    private var last: ContinuousClock.Instant?

    /// - Parameter isShown: false if the terminal has other output.
    public init(isShown: Bool = true) { self.isShown = isShown && Terminal.error.isInteractive }

    /// Shows or replaces the line, at most ten times a second.
    public mutating func show(_ text: @autoclosure () -> String) {
        let now = ContinuousClock.now
        guard isShown, last.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
        last = now
        write(text())
    }

    /// Removes the line.
    public mutating func end() {
        if last != nil { write("") }
        last = nil
    }

    private func write(_ text: String) {
        let bytes = Array("\r\u{1B}[K\(text)".utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Returns a part of a whole as a percentage of five characters: ` 45 %`.
public func percentage(_ fraction: Double) -> String {
    let percent = String(Int(min(max(fraction, 0), 1) * 100))
    return String(repeating: " ", count: 3 - percent.count) + percent + " %"
}
