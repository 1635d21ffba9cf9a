import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSystem

struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Give free pages back, or make summaries again.",
        usage: "lockstep compact [--store <store>] [--summaries] [<options>]",
        discussion: """
            Gives the free pages of an SQLite store back to the file system. A store that samples have left uses its free \
            pages for new samples, so this is only needed to make the file smaller. The first time, the file is written \
            anew: the collector must be stopped, and as much free disk space as the store is large is needed. From then \
            on, pages are given back in short steps while the collector runs, and the collector writes about 6 % more \
            bytes.

            With --summaries, nothing is given back. Instead, the summaries of minutes are made again from the samples, for \
            example after samples were changed with SQL. Those of minutes whose samples have left stay as they are. The \
            collector must be stopped.
            """)

    @OptionGroup var options: StoreOptions

    @Flag(help: "Make the summaries of minutes again from the samples instead; see above.")
    var summaries = false

    func run() throws {
        guard case .sqlite(let path) = try options.address(isRead: false) else {
            throw CommandFailure(
                summaries
                    ? "--summaries is for SQLite stores"
                    : "only an SQLite store has free pages: a ClickHouse server frees its disk by itself")
        }
        if summaries { return try rebuildSummaries(path) }
        let compaction = try StoreCompaction(path: path)
        let before = try compaction.free
        let interrupt = Interrupt(wakeup: Wakeup())
        var progress = ProgressLine()
        do {
            defer { progress.end() }
            if try !compaction.hasMap { progress.show("writing \(path) anew") }
            try compaction.run { free in
                progress.show("\(BackupProgress.size(free)) of \(BackupProgress.size(before)) left")
                return !interrupt.isSet
            }
        }
        let after = try compaction.free
        Terminal.output.write(
            "\(path): \(BackupProgress.size(max(0, before - after))) given back, \(BackupProgress.size(after)) free\n")
        if interrupt.isSet { throw ExitCode(128 + (interrupt.signal ?? 0)) }
    }

    private func rebuildSummaries(_ path: String) throws {
        var options = SQLiteStore.Options()
        options.isCollector = false
        let store: SQLiteStore
        do {
            store = try SQLiteStore(path: path, options: options, catalog: StoreReader(path: path).catalog())
        } catch {
            guard error.code == .inUse else { throw error }
            throw CommandFailure("\(path) is in use by a collector: stop the collector to make summaries again")
        }
        defer { store.close() }
        let interrupt = Interrupt(wakeup: Wakeup())
        var progress = ProgressLine()
        var last = RebuildProgress.deleting(0)
        let (made, kept) = try {
            defer { progress.end() }
            return try store.rebuildSummaries { now in
                guard !interrupt.isSet else { return false }
                last = now
                switch now {
                case .deleting(let share): progress.show("\(percentage(share))  deleting old summaries of \(path)")
                case .making(let share): progress.show("\(percentage(share))  making summaries of \(path)")
                }
                return true
            }
        }()
        if let signal = interrupt.signal {
            let wereDeleted = if case .making = last { true } else { false }
            Terminal.writeError(
                wereDeleted
                    ? "interrupted: the collector makes the other summaries"
                    : "interrupted: run the command again, because summaries that it has not reached stay as they are")
            throw ExitCode(128 + signal)
        }
        Terminal.output.write(
            "\(path): \(counted(made, "summary", "summaries")) made from samples, \(kept) kept because samples have left\n"
        )
    }
}
