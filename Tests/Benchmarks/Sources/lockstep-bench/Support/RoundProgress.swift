import Foundation

/// Shows which round of a benchmark is running.
struct RoundProgress {
    let benchmark: String
    let rounds: Int
    private let begin = ContinuousClock.now

    init(of benchmark: String, rounds: Int) {
        self.benchmark = benchmark
        self.rounds = rounds
    }

    /// - Parameters:
    ///   - round: The number of the round that begins, from 1.
    ///   - side: The name of the side that is measured.
    func show(round: Int, side: String) {
        let seconds = Int((ContinuousClock.now - begin) / .seconds(1))
        let elapsed = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
        StatusLine.show("\(benchmark), round \(round) of \(rounds): \(side) (elapsed \(elapsed))")
    }
}

/// The current activity on standard error: on a terminal one line that is rewritten, otherwise a line for each
/// activity.
enum StatusLine {
    private static let isTerminal =
        isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] ?? "dumb" != "dumb"
    /// Moves to the start of the line and erases it.
    private static let erase = "\r\u{1B}[K"

    static func show(_ activity: String) {
        // A line that wraps could not be erased: cut it at the edge of the terminal by disabling wrapping meanwhile.
        write(isTerminal ? "\(erase)\u{1B}[?7l\(activity)\u{1B}[?7h" : activity + "\n")
    }

    /// Removes the line from a terminal, before other output.
    static func clear() {
        if isTerminal { write(erase) }
    }

    private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
