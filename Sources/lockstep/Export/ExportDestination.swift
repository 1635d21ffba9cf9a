import Glibc
import LockstepCommandLine
import LockstepMQTT
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
