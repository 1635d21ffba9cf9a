import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepStore
import LockstepSystem

extension VerifyCommand {
    /// Checks the file, and shows the progress. Ctrl-C ends it, and the program says what was checked.
    /// - Returns: the problems found.
    func checkFile() throws -> [String] {
        guard case .sqlite(let path) = try options.address() else {
            throw CommandFailure("--file is for an SQLite store: ClickHouse checks its files when it reads them")
        }
        let start = ContinuousClock.now
        let interrupt = Interrupt(wakeup: Wakeup())
        let check = try FileCheck(path: path)
        var line = ProgressLine()
        while true {
            check.wait(.milliseconds(100))
            let progress = check.progress
            guard !progress.isDone else {
                line.end()
                if let error = progress.error { throw error }
                return progress.findings
            }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            line.show(Self.line(progress, share: check.share, seconds: seconds))
            if let signal = interrupt.signal {
                line.end()
                Terminal.output.write(Self.text(ofPart: progress, share: check.share))
                throw ExitCode(128 + signal)
            }
        }
    }

    /// Returns the line of progress: `checking _accelerometer:  45 %, 12 s left`.
    static func line(_ progress: FileCheck.Progress, share: Double?, seconds: Double) -> String {
        let table = progress.rest.first ?? "the file"
        guard let share, share > 0.01 else { return "checking \(table)" }
        return "checking \(table): \(percentage(share)), \(Int(seconds * (1 - share) / share)) s left"
    }

    /// Returns what an unfinished check has found.
    static func text(ofPart progress: FileCheck.Progress, share: Double?) -> String {
        let lines =
            progress.findings.map { "damaged: \($0)" } + [
                "checked: \(progress.checked.joined(separator: ", "))",
                "not checked: \(progress.rest.joined(separator: ", "))",
                "ended before all of the file was checked"
                    + (share.map { ", after \(percentage($0).drop { $0 == " " })" } ?? ""),
            ]
        return lines.joined(separator: "\n") + "\n"
    }
}
