import ArgumentParser
import Glibc
import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSystem
import LockstepWire

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy an SQLite store into a file, also while a collector writes to it.",
        usage: "lockstep backup [--store <store>] [<options>] <to>",
        discussion: """
            The copy is one file without a write-ahead log. It is checked before it gets its name, and nothing is left \
            of a copy that fails. Do not copy the file of a running collector with cp: its newest samples are in the \
            file …-wal.

            To restore a backup, stop the collector and copy in the other direction; agents send again what they still \
            have, and 'lockstep verify' lists what is missing:

              lockstep backup --store sqlite:backup.db --force samples.db
            """)

    @OptionGroup var options: StoreOptions

    @Argument(help: "File of the copy. Its folder must exist.", completion: .file())
    var to: String

    @Flag(help: "Replace an existing file.")
    var force = false

    @Option(
        help:
            "Greatest number of bytes to copy in a second, such as 20M, so that others can use the disk (default: none).",
        transform: byteCount)
    var limit: Int?

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        guard case .sqlite(let path) = try options.address() else {
            throw CommandFailure(
                "only an SQLite store can be copied into a file: for a ClickHouse database, use the server's command BACKUP"
            )
        }
        let start = ContinuousClock.now
        let interrupt = Interrupt(wakeup: Wakeup())
        var progress = ProgressLine()
        let summary: StoreBackup.Summary
        do {
            defer { progress.end() }
            summary = try StoreBackup(of: path, to: to).run(replacing: force) { copied, all in
                if interrupt.isSet { throw StoreBackup.Cancelled() }
                progress.show(BackupProgress.line(copied, of: all))
                let due = start + .seconds(Double(copied) / Double(limit ?? .max))
                while ContinuousClock.now < due, !interrupt.isSet { usleep(20_000) }
            }
        } catch is StoreBackup.Cancelled {
            throw ExitCode(128 + (interrupt.signal ?? 0))
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        if json {
            var object = JSONObjectWriter()
            object.member("store", path)
            object.member("backup", to)
            object.member("bytes", summary.bytes)
            object.member("devices", Int64(summary.devices))
            object.member("samples", summary.samples)
            object.member("seconds", (seconds * 1000).rounded() / 1000)
            Terminal.output.write(String(decoding: object.finish(), as: UTF8.self) + "\n")
        } else {
            Terminal.output.write(
                "\(to): \(counted(summary.samples, "sample")) of \(counted(summary.devices, "device")), "
                    + "\(BackupProgress.size(summary.bytes)), checked\n")
        }
    }
}

enum BackupProgress {
    /// Returns the text: `copying  45 %, 36.0 of 80.0 MB`. The last percent is the check.
    static func line(_ copied: Int64, of all: Int64) -> String {
        guard copied < all else { return "checking \(size(all))" }
        return "copying \(percentage(Double(copied) / Double(all))), \(megabytes(copied)) of \(size(all))"
    }

    /// Returns a size: `80.0 MB`.
    static func size(_ bytes: Int64) -> String { megabytes(bytes) + " MB" }

    private static func megabytes(_ bytes: Int64) -> String { fixed(Double(bytes) / 1e6, 1) }
}
