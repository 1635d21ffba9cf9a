import ArgumentParser
import Glibc
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete samples of a device from the store, for good.",
        usage: "lockstep delete --device <device> [<options>]",
        discussion: """
            Prints what is stored of these times, by stream and day, and asks. Then the samples are deleted, also \
            those that wait to be merged, and their conflicts and what 'lockstep refine' has computed from them; with \
            --all also clock estimates and events of rules. The table 'deletions' records it. Samples of these times \
            that arrive later, from an agent or a broker, are acknowledged, counted and not stored, and 'lockstep \
            verify' does not miss them. What the device measures later is stored. docs/privacy.md says what remains where.

            The collector of the store deletes, in short transactions, so its broker must be given if it runs. An \
            SQLite store without a collector is changed by this command. What was interrupted goes on with the next \
            start of the collector.

            EXAMPLES
              lockstep delete --device left --stream location --from -70m --to -65m
              lockstep delete --device lab/left --all --secure --reason 'has withdrawn'
              lockstep delete --list
            """)

    @OptionGroup var store: Options<StoreSettings>

    @Option(help: "The device, as [GROUP/]DEVICE.", transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument?

    @Option(help: "Only this stream, by its name or that of its table (default: all streams).")
    var stream: String?

    @OptionGroup var timeRange: TimeRangeOptions

    @Flag(help: "Everything of the device until now, instead of --from and --to.")
    var all = false

    @Option(help: "Why, for the table 'deletions'.")
    var reason: String?

    @Flag(help: "Also overwrite the space that becomes free, and all other free space of the file (SQLite).")
    var secure = false

    @Flag(name: [.customLong("dry-run")], help: "Only print what would be deleted.")
    var isPreview = false

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Print what was deleted earlier.")
    var list = false

    @OptionGroup var connection: ConnectionOptions

    func run() throws {
        let settings = try connection.settings(including: [StoreSettings.self])
        let address = try store.address(settings)
        let reader = try address.reader()
        if list { return try printList(reader) }
        let deletion = try deletion(in: reader)
        let days = try reader.preview(of: deletion)
        Terminal.output.write(Self.text(of: days, deletion))
        guard !isPreview, try yes || confirm(days, deletion) else { return }
        let count = try DeletionRun(deletion, samples: days.reduce(0) { $0 + $1.count }, reader: reader)
            .run(on: address, connection, settings)
        Terminal.output.write(
            "Deleted \(counted(count, "sample")) of \(deletion.device). Samples of these times are not stored when they "
                + "arrive again.\n")
    }

    /// Returns the request that the options describe.
    private func deletion(in reader: StoreReader) throws -> Deletion {
        guard let device else { throw CommandFailure("name the device: --device [GROUP/]DEVICE") }
        let address = try device.onlyAddress(among: reader.devices().map(\.address))
        let now = Moment.now().wall
        let (from, to) = try timeRange.range(now: now)
        guard all != (from != nil || to != nil) else {
            throw CommandFailure("give --from, --to or both, or else --all for everything until now")
        }
        let name = try stream.map { name in
            try reader.catalog().knownStream(name).name
        }
        // The clock of the device may be ahead.
        let newest = try reader.devices().first { $0.address == address }?.lastSample?.microseconds ?? 0
        let last = all ? max(now.microseconds, newest + 1) : now.microseconds
        let (start, end) = (from?.microseconds ?? Deletion.earliest, min(to?.microseconds ?? last, last))
        guard start < end else { throw CommandFailure("--from is not before now: add --to") }
        return Deletion(
            id: "\(Epoch.random())", device: address, stream: name, times: start..<end, at: now, who: DeletionRun.user,
            reason: reason, isSecure: secure)
    }

    /// Asks on a terminal.
    private func confirm(_ days: [DeletionDay], _ deletion: Deletion) throws -> Bool {
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                "nothing is deleted without a question on a terminal: add --yes to delete, or --dry-run")
        }
        let count = days.reduce(0) { $0 + $1.count }
        Terminal.output.write("Delete \(counted(count, "sample")) of \(deletion.device) for good? [y/N] ")
        return ["y", "yes"].contains(Swift.readLine()?.lowercased() ?? "")
    }

    private func printList(_ reader: StoreReader) throws {
        let known = try reader.devices().map(\.address)
        let address = try device?.onlyAddress(among: known)
        for stored in try reader.deletions(of: address) {
            let deletion = stored.deletion
            let state = stored.done.map { "done \($0.shown)" } ?? "under way"
            Terminal.output.write(
                """
                \(deletion.at.shown)  \(deletion.device)  \(deletion.stream ?? "all streams")  \(Self.text(of: deletion.times))
                  \(counted(stored.count, "sample")) deleted, \(stored.refused) arrived later and not stored, \(state)
                  by \(deletion.who ?? "?")\(deletion.reason.map { ": \(Terminal.escaped($0))" } ?? "")

                """)
        }
    }

    static func text(of times: Range<Int64>) -> String {
        (times.lowerBound <= Deletion.earliest ? "…" : Timestamp(microseconds: times.lowerBound).shown(decimals: 6))
            + " – "
            + Timestamp(microseconds: times.upperBound).shown(decimals: 6)
    }

    /// Returns the preview: a line for each stream and day, and the sum.
    static func text(of days: [DeletionDay], _ deletion: Deletion) -> String {
        let width = days.map(\.stream.count).max() ?? 0
        let numbers = days.map { "\($0.count)".count }.max() ?? 0
        var text = "\(deletion.device), \(Self.text(of: deletion.times))\n"
        for day in days {
            let stream = day.stream + String(repeating: " ", count: width - day.stream.count)
            let count = String(repeating: " ", count: numbers - "\(day.count)".count) + "\(day.count)"
            text +=
                "  \(stream)  \(count) \(day.count == 1 ? "sample " : "samples")  \(day.first.shown(decimals: 6)) – \(day.last.shown(decimals: 6))\n"
        }
        return days.isEmpty ? text + "  nothing is stored of these times\n" : text
    }
}
