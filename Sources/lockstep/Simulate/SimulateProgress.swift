import Glibc
import LockstepAgent
import LockstepCommandLine
import LockstepModel

/// A progress line on standard error, shown only on a terminal.
struct SimulateProgress {
    private let isShown = isatty(STDERR_FILENO) == 1

    /// Shows or replaces the line.
    func show(_ outcome: FleetOutcome) {
        guard isShown else { return }
        write("\r\u{1B}[K\(Self.line(outcome))")
    }

    /// Removes the line.
    func end() { if isShown { write("\r\u{1B}[K") } }

    static func line(_ outcome: FleetOutcome) -> String {
        let lag = outcome.liveLag.quantile(0.99).map { ", p99 latency \(fixed(Double($0) / 1000, 0)) ms" } ?? ""
        let memory = outcome.collectors.collectors.values.compactMap(\.memory.last).max()
        return "\(outcome.elapsed / 1_000_000) s: \(counted(outcome.sent.batches, "batch", "batches")) sent, "
            + "\(outcome.acknowledged.batches) acknowledged\(lag)"
            + (memory.map { ", collector \($0 >> 20) MB" } ?? "")
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
