import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

struct CopyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copy an SQLite store to a ClickHouse database, or a session to another store.",
        usage: "lockstep copy --from <from> --to <to> [<options>]",
        discussion: """
            Copies samples, batch numbers, states and counters, and compares both stores: by the number and hash of the \
            samples of each device, stream and hour. Hours that are equal are skipped, so that an interrupted copy \
            continues where it ended, and a later copy adds what is new. Estimates of clocks, conflicting samples, \
            rejected messages of the last 30 days, sessions, and events with their notifications and the states of \
            their rules are copied too, each once. Events get new numbers. Refined data are not copied. What people have deleted is \
            deleted from the target, too, and like what has expired, it is not stored when it arrives again.

            The exit status is 1 if a sample of the source is not in the target.

            To move a collector: copy, stop the collector, copy again, and start it with the new store.

            With --session, only a session that has ended is copied, between any two stores: its labels, devices and \
            markers, the samples of its devices in its time, and the estimates of their clocks. The copy may be repeated. A \
            running collector of the target shows the session after its next start; that of an SQLite store has to be \
            stopped meanwhile.

            A folder that 'lockstep export session' has written is read, too. Its samples keep the times of the collector's \
            clock, so a store that has the session is refused. Use --session to copy between stores that you can reach.

            EXAMPLES
              lockstep copy --from sqlite:samples.db --to clickhouse://db.example/lockstep
              lockstep copy --from sqlite:samples.db --to sqlite:walks.db --session walk-3
              lockstep copy --from walk-3 --to sqlite:walks.db
            """)

    @Option(
        help: """
            Store to read: sqlite:PATH; with --session also clickhouse://[user@]host[:port][,host…]/database; or the folder of \
            an exported session.
            """)
    var from: String

    @Option(
        help: """
            Store to write: clickhouse://[user@]host[:port][,host…]/database; for a session also sqlite:PATH. It is \
            created if it does not exist.
            """)
    var to: String

    @Option(help: "Copy only this session, by its name or id.")
    var session: String?

    @Option(help: "Group of the session (default: any).", transform: groupID)
    var group: GroupID?

    @OptionGroup var storePassword: Options<StorePasswordSettings>
    @OptionGroup var file: SettingsFile

    @Option(help: "Durability of the copy: full or normal, as for lockstep-collector.")
    var sync = "full"

    @Option(
        help: """
            Number of replicas that must hold each sample: majority, or a number, as for lockstep-collector (default: \
            none, the tables are not replicated).
            """)
    var quorum: String?

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    func validate() throws {
        guard ["normal", "full"].contains(sync) else {
            throw ValidationError("'\(sync)' is not a sync mode: use full or normal")
        }
        guard group == nil || session != nil else { throw ValidationError("--group is only for --session") }
        if let quorum, Quorum(quorum) == nil {
            throw ValidationError("'\(quorum)' is not a quorum: use majority, or a number of replicas from 1 to 9")
        }
    }

    func run() throws {
        let settings = try Settings(of: [StorePasswordSettings.self], file: file.config, ignoresUnknownKeys: true)
        if let folder = try SessionFolder(at: from) {
            guard session == nil else { throw CommandFailure("\(from) is one session: leave out --session") }
            return try copySession(settings, .builtIn) { try $0.run(folder) }
        }
        if let session { return try copy(session: session, settings) }
        guard case .sqlite(let path) = try StoreAddress(from) else {
            throw CommandFailure("--from is not an SQLite store: use sqlite:PATH")
        }
        guard case .clickHouse(var address) = try StoreAddress(to) else {
            throw CommandFailure(
                "--to is not a ClickHouse database: use clickhouse://[user@]host[:port][,host…]/database")
        }
        address.password = try storePassword.read(settings)
        let source = try StoreReader(path: path)
        let target = try CopyTarget(
            address, survivesPowerLoss: sync == "full", quorum: quorum.flatMap { Quorum($0) }, catalog: source.catalog()
        )
        let total = try source.devices().reduce(0) { $0 + $1.samples }
        var progress = ProgressLine()
        var copy = StoreCopy(source: source, target: target, check: try StoreReader(address)) {
            let fraction = total > 0 ? Double($0.samples) / Double(total) : 1
            progress.show("\(percentage(fraction)), \(counted($0.samples, "sample")), \($1) \($2)")
        }
        defer { progress.end() }
        let report = try copy.run()
        progress.end()
        Terminal.output.write(json ? Self.json(report) : Self.text(report))
        if !report.isComplete { throw ExitCode(1) }
    }

    private func copy(session name: String, _ settings: Settings) throws {
        let from = try StoreAddress(from).with(password: try storePassword.read(settings))
        let source = try from.reader()
        let session = try source.sessions().filter { (group ?? $0.key.group) == $0.key.group }.only(name)
        try copySession(settings, from: from, source.catalog()) { try $0.run(session, in: source) }
    }

    /// Copies a session to the target, which is created if it does not exist.
    private func copySession(
        _ settings: Settings, from: StoreAddress? = nil, _ catalog: StreamCatalog,
        _ body: (SessionCopy) throws -> SessionCopy.Report
    ) throws {
        let to = try StoreAddress(to).with(password: try storePassword.read(settings))
        guard from != to else { throw CommandFailure("--from and --to are the same store") }
        let target: SessionCopy.Target
        switch to {
        case .sqlite(let path):
            var options = SQLiteStore.Options()
            options.isCollector = false
            target = .sqlite(try SQLiteStore(path: path, options: options, catalog: catalog))
        case .clickHouse(let address):
            target = .clickHouse(
                try CopyTarget(
                    address, survivesPowerLoss: sync == "full", quorum: quorum.flatMap { Quorum($0) }, catalog: catalog)
            )
        }
        defer { if case .sqlite(let store) = target { store.close() } }
        var progress = ProgressLine()
        defer { progress.end() }
        let report = try body(
            SessionCopy(target: target, check: try to.reader()) { progress.show(counted($0.samples, "sample")) })
        progress.end()
        Terminal.output.write(json ? Self.json(report) : Self.text(report))
        if !report.isComplete { throw ExitCode(1) }
    }

    static func text(_ report: SessionCopy.Report) -> String {
        let result =
            report.isComplete
            ? "verified: the target has all of them"
            : "\(report.missing) missing and \(report.different) with other values in the target"
        return "\(report.session.group)/\(report.session.id): \(counted(report.samples, "sample")), "
            + "\(report.copied) copied now\n\(result)\n"
    }

    static func json(_ report: SessionCopy.Report) -> String {
        """
        {"group":"\(report.session.group)","session":"\(report.session.id)","samples":\(report.samples),\
        "copied":\(report.copied),"missing":\(report.missing),"different":\(report.different)}

        """
    }

    static func text(_ report: StoreCopy.Report) -> String {
        let result =
            report.isComplete
            ? "verified: the target has all of them"
            : "\(report.missing) missing and \(report.different) with other values in the target: run the copy again"
        return "\(counted(report.devices, "device")), \(counted(report.samples, "sample")), "
            + "\(report.copied) copied now\n"
            + "also \(counted(report.sessions, "session")), \(counted(report.events, "event")), "
            + "\(counted(report.conflicts, "conflict")) and \(counted(report.rejected, "rejected message"))\n\(result)\n"
    }

    static func json(_ report: StoreCopy.Report) -> String {
        """
        {"devices":\(report.devices),"hours":\(report.hours),"samples":\(report.samples),"copied":\(report.copied),\
        "missing":\(report.missing),"different":\(report.different),"sessions":\(report.sessions),"events":\(report.events),\
        "conflicts":\(report.conflicts),"rejected":\(report.rejected)}

        """
    }
}
