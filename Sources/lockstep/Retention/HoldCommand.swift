import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepStore
import LockstepWire

struct HoldCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold", abstract: "Let samples of a time range stay, whatever the rules of --keep say.",
        usage: """
            lockstep hold <device> --from <from> --to <to> --reason <reason>
            lockstep hold --session <session> [--reason <reason>] [<options>]
            lockstep hold --list [--json] [<options>]
            lockstep hold --remove <number> [<options>]
            """,
        discussion: """
            Samples that have left already do not come back. When a hold is removed, its samples leave within a minute if \
            their time is over. The collector may run. Only an SQLite store has holds.

            EXAMPLE
              lockstep hold lab/left --from -2h --to -1h --reason 'fall on the stairs'
              lockstep hold --session 'walk 3'
            """)

    @OptionGroup var options: StoreOptions

    @Argument(help: "The device, as [GROUP/]DEVICE.", transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @Option(help: "Only this stream, such as location.")
    var stream: String?

    @OptionGroup var timeRange: TimeRangeOptions

    @Option(help: "All devices of this session, by name or id, from its start to its end.")
    var session: String?

    @Option(help: "Why the samples stay. Of a session, its name by default.")
    var reason: String?

    @Flag(help: "List the holds.")
    var list = false

    @Option(help: "Remove the hold with this number.")
    var remove: Int64?

    @Flag(help: "With --list: print a JSON array.")
    var json = false

    func validate() throws {
        guard [device != nil, session != nil, list, remove != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("give a device, or --session, --list or --remove")
        }
        guard session == nil || (timeRange.from == nil && timeRange.to == nil) else {
            throw ValidationError("a session has its own times: leave out --from and --to")
        }
        guard device == nil || (timeRange.from != nil && timeRange.to != nil && reason != nil) else {
            throw ValidationError("a hold needs --from, --to and --reason")
        }
    }

    func run() throws {
        guard case .sqlite(let path) = try options.address(isRead: false) else {
            throw CommandFailure("only an SQLite store has holds")
        }
        if let remove {
            try HoldTable.remove(remove, from: path)
            Terminal.output.write("removed hold \(remove)\n")
            return
        }
        let reader = try StoreReader(path: path)
        let now = Moment.now().wall
        let catalog = try reader.catalog()
        let name = try stream.map { try catalog.knownStream($0).name }
        func hold(_ device: DeviceAddress, from: Timestamp, to: Timestamp, reason: String) throws {
            let id = try HoldTable.add(
                to: path, device: device, stream: name, from: from.microseconds, to: to.microseconds, reason: reason,
                now: now)
            Terminal.output.write(
                "hold \(id): \(name ?? "all streams") of \(device) from \(from.shown) to \(to.shown) stay\n")
        }
        if let session {
            let found = try reader.sessions().only(session)
            guard let start = found.start, let end = found.end else {
                throw CommandFailure("the session '\(found.name)' has not ended yet: hold it afterwards")
            }
            // Others have sent nothing.
            let devices = try Set(reader.devices().map(\.address)).intersection(found.addresses)
            guard start < end, !devices.isEmpty else {
                throw CommandFailure("the session '\(found.name)' has no samples")
            }
            // Samples have the times of their devices.
            let time = try CollectorTime(of: found.addresses, from: start, to: end, in: reader)
            for device in devices.sorted() {
                let range = time.deviceRange(of: device)
                try hold(
                    device, from: range.from ?? start, to: range.to ?? end, reason: reason ?? "session \(found.name)")
            }
        } else if let device {
            let (from, to) = try timeRange.range(now: now)
            guard let from, let to else { return }
            let address = try device.onlyAddress(among: reader.devices().map(\.address), option: "")
            try hold(address, from: from, to: to, reason: reason ?? "")
        } else {
            show(try reader.holds())
        }
    }

    private func show(_ holds: [Hold]) {
        guard !json else {
            let objects = holds.map { hold in
                var object = JSONObjectWriter()
                object.member("hold", hold.id)
                object.member("group", hold.device.group.rawValue)
                object.member("device", hold.device.device.rawValue)
                object.member("stream", ifPresent: hold.stream)
                object.member("from", hold.from)
                object.member("to", hold.to)
                object.member("reason", hold.reason)
                return String(decoding: object.finish(), as: UTF8.self)
            }
            return Terminal.output.write("[" + objects.joined(separator: ",\n ") + "]\n")
        }
        guard !holds.isEmpty else { return Terminal.output.write("no holds\n") }
        var table = Table([.right("HOLD"), "DEVICE", "STREAM", "FROM", "TO", "REASON"])
        for hold in holds {
            table.rows.append([
                "\(hold.id)", .init(hold.device.description, .bold), .init(hold.stream ?? "all"),
                .init(Timestamp(microseconds: hold.from).shown),
                .init(Timestamp(microseconds: hold.to).shown), .init(hold.reason.printable),
            ])
        }
        Terminal.output.write(table.text(for: .output))
    }
}
