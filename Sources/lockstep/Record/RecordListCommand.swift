import ArgumentParser
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore
import LockstepWire

struct RecordListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions of a store.",
        usage: "lockstep record list [--store <store>] [<options>]")

    @OptionGroup var options: StoreOptions

    @Option(help: "Only sessions of this group.", transform: groupID)
    var group: GroupID?

    @Option(
        help: ArgumentHelp("Only sessions with this label. May be repeated.", valueName: "key=value"),
        transform: sessionLabel)
    var label: [(key: String, value: String)] = []

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print a JSON array with one object per session.")
    var json = false

    func run() throws {
        let sessions = try options.reader().sessions().filter { session in
            (group ?? session.key.group) == session.key.group
                && label.allSatisfy { session.labels[$0.key] == $0.value }
        }
        if json {
            let objects = sessions.map { String(decoding: SessionJSON.encodeWithKey($0), as: UTF8.self) }
            return Terminal.output.write("[" + objects.joined(separator: ",\n ") + "]\n")
        }
        guard !sessions.isEmpty else { return Terminal.output.write("no sessions\n") }
        var table = Table([
            "SESSION", "NAME", "STATE", "START", .right("LENGTH"), .right("DEVICES"), .right("MARKERS"), "LABELS",
        ])
        for session in sessions {
            let labels = session.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let length = session.start.flatMap { start in session.end.map { SessionText.seconds($0 - start) } }
            table.rows.append([
                .init("\(session.key.group)/\(session.key.id)", .bold), .init(Terminal.escaped(session.name)),
                .init(session.state.rawValue, session.state == .incomplete ? .red : .plain),
                .init(session.start?.shown ?? "-"), .init(length ?? "-"), "\(session.devices.count)",
                "\(session.markers.count)", .init(Terminal.escaped(labels.joined(separator: " "))),
            ])
        }
        Terminal.output.write(table.text(for: .output))
    }
}

struct RecordShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a session of a store: its devices, markers, and times without samples.",
        usage: "lockstep record show [--store <store>] <session> [<options>]",
        discussion: """
            A gap is a time without samples of a stream of --rate, of three intervals and 0.1 s or more, on the collector's \
            clock. Its number of samples is that of the asked rate. A complete session has gaps if a device was off: everything that it has accepted is stored. The exit status is \
            that of 'lockstep record stop'.
            """)

    @OptionGroup var options: StoreOptions

    @Argument(help: "Name or id of the session.")
    var session: String

    @Option(help: "Group of the session (default: any).", transform: groupID)
    var group: GroupID?

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let reader = try options.reader()
        let session = try reader.sessions().filter { (group ?? $0.key.group) == $0.key.group }.only(self.session)
        let streams = try session.series(in: reader, now: Moment.now().wall)
        if json {
            Terminal.output.write(SessionJSON.encodeWithKey(session, streams: streams) + Array("\n".utf8))
        } else {
            Terminal.output.write(SessionText.summary(session) + SessionText.table(session, for: .output))
            for series in streams {
                Terminal.output.write(
                    "\(series.device)  \(series.stream)  \(counted(series.samples, "sample"))"
                        + (series.gaps.isEmpty ? "\n" : ", \(counted(series.gaps.count, "gap"))\n"))
                for gap in series.gaps.prefix(20) {
                    Terminal.output.write(
                        "  nothing from \(gap.from.shown(decimals: 3)) to \(gap.to.shown(decimals: 3)), "
                            + "about \(counted(gap.count, "sample")), \(SessionText.seconds(gap.to - gap.from))\n")
                }
                if series.gaps.count > 20 { Terminal.output.write("  … all with --json\n") }
            }
            for marker in session.markers {
                let details = [
                    marker.device.map { "device \($0)" }, marker.value.map { "value \($0)" },
                    marker.duration.map { "for " + SessionText.seconds($0) }, "clock \(marker.clock.rawValue)",
                ].compactMap(\.self)
                Terminal.output.write(
                    "\(marker.time.shown(decimals: 3))  \(Terminal.escaped(marker.text))  \(details.joined(separator: ", "))\n"
                )
            }
        }
        if session.exitStatus != 0 { throw ExitCode(session.exitStatus) }
    }
}
