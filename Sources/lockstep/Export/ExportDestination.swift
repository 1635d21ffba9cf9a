import Glibc
import LockstepCommandLine
import LockstepExport
import LockstepMQTT
import LockstepModel
import LockstepSystem

/// Where an export is written.
enum ExportDestination {
    case standardOutput
    case file(ExportFile)

    /// Whether the file is written to a terminal.
    var isTerminal: Bool {
        if case .standardOutput = self { isatty(STDOUT_FILENO) == 1 } else { false }
    }

    /// Starts recording signals, so that a file can be removed before the program ends. Standard output has nothing to
    /// remove, and a signal must also end a write to a pipe that nothing reads.
    func interrupt() -> Interrupt? {
        guard case .file = self else { return nil }
        return Interrupt(wakeup: Wakeup(), signals: [SIGINT, SIGTERM, SIGHUP])
    }

    /// Receives the bytes of an export, shows its progress, and reports a finished file.
    /// - Parameters:
    ///   - subject: what is exported, such as `2 devices`.
    ///   - clock: the conversion of times, for a warning.
    ///   - isPart: whether the file is one of several, so that it is not reported.
    ///   - body: writes, and returns what was written, such as `5 samples`, or nil if there is to be no file.
    /// - Returns: whether there is a file.
    /// - Throws: ``ExportInterruption``, or the error of `body`. Then no file is left.
    @discardableResult
    func receive(
        _ subject: String, clock: CollectorTime?, isPart: Bool = false,
        _ body: (_ write: ([UInt8]) throws -> Void, _ update: (SampleExport.Progress) throws -> Void) throws -> String?
    ) throws -> Bool {
        var progress = ProgressLine(isShown: !isTerminal)
        let start = ContinuousClock.now
        var bytes: Int64 = 0
        let interrupt = interrupt()
        func check() throws {
            if let signal = interrupt?.signal { throw ExportInterruption(signal: signal) }
        }
        let result: String?
        do {
            defer { progress.end() }
            result = try body(
                { piece in
                    try check()
                    try write(piece)
                    bytes += Int64(piece.count)
                },
                { state in
                    try check()
                    progress.show(ExportProgress.line(state, bytes: bytes, elapsed: start.duration(to: .now)))
                })
            guard result != nil else {
                discard()
                return false
            }
            try finish()
            TimeReference.warn(clock)
        } catch {
            discard()
            throw error
        }
        if case .file(let file) = self, let result, !isPart {
            Terminal.output.write("\(file.path): \(result) of \(subject), \(counted(bytes, "byte"))\n")
        }
        return true
    }

    func write(_ bytes: [UInt8]) throws {
        switch self {
        case .standardOutput: Terminal.output.write(bytes)
        case .file(let file): try file.write(bytes)
        }
    }

    func finish() throws {
        if case .file(let file) = self { try file.finish() }
    }

    func discard() {
        if case .file(let file) = self { file.discard() }
    }
}

enum ExportProgress {
    /// Returns a bar: `[#########-----------]  45 %, 120000 samples, 8 MB, 12 s left`.
    static func line(_ progress: SampleExport.Progress, bytes: Int64, elapsed: Duration) -> String {
        let width = 20
        let fraction = min(max(progress.fraction, 0), 1)
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        let left = fraction > 0.01 ? ", \(Int((elapsed / .seconds(1)) * (1 - fraction) / fraction)) s left" : ""
        return "[\(bar)] \(percentage(fraction)), \(counted(progress.samples, "sample")), \(bytes >> 20) MB\(left)"
    }
}
