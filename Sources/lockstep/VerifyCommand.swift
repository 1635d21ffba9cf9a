import ArgumentParser
import LockstepAgent
import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSystem
import LockstepWire

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Verify that no sample is missing from the store.",
        usage: "lockstep verify [--store <store>] [<options>]",
        discussion: """
            Lists the batches of each device, as the store has noted their receipt: this takes as long for a large store \
            as for a small one. A batch that is not stored is

              on its way  if the device still has it, as far as it has reported
              missing     if the device no longer has it
              dropped     if it will never be stored, because the agent dropped it or
                          the collector rejected it
              before      if another store received it, before this one knew the device

            With --device, only the \
            given devices are verified. Devices that 'lockstep forget' has removed are left out, unless --device names \
            them. Samples that were deleted are not missing.

            With --file, the file of an SQLite store is read as a whole: SQLite checks each table with its indexes, and \
            the samples of each stream are counted. On a terminal, the progress is shown. Ctrl-C ends the check, and the \
            command says which tables were checked. Free pages are not checked. Other commands and backups report \
            damage in what they read.

            An agent that runs with --journal keeps every accepted batch in its outbox. If such an outbox is given \
            with --journal, each of its samples is looked up in the store and compared.

            The exit status is

              0  if the store is complete
              1  if a batch is missing or dropped, if a sample of a journal is not
                 stored or has another value, if the file is damaged (--file), or if the
                 store has no device
              2  if nothing is wrong, but batches are on their way: verify again
                 later, with the devices running
            """)

    @OptionGroup var options: StoreOptions

    @Option(
        help: "Only this device, as [GROUP/]DEVICE; without a group, in any group. May be repeated.",
        transform: DeviceArgument.init(parsing:))
    var device: [DeviceArgument] = []

    @Option(
        help: """
            Outbox of an agent, as [[GROUP/]DEVICE=]OUTBOX; may be repeated. A relative path that contains '=' requires \
            the device.
            """)
    var journal: [String] = []

    @Flag(help: "Check the whole file, and count the samples of each stream.")
    var file = false

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let reader = try options.reader()
        var report = VerifyReport(findings: file ? try checkFile() : [])
        report.isFileChecked = file
        do {
            let known = try reader.devices()
            let selection = device.isEmpty ? nil : try device.addresses(among: known.map(\.address))
            let forgotten = Set(selection == nil ? known.filter(\.isForgotten).map(\.address) : [])
            let devices = try reader.verification(devices: selection, counting: file)
            var line = ProgressLine()
            defer { line.end() }
            report.journals = try journal.map {
                try JournalCheck(
                    specification: $0, devices: devices, selection: selection, streams: reader.catalog()
                ).run(reader) { outcome in line.show(Self.line(outcome)) }
            }
            line.end()
            let omitted = forgotten.subtracting(report.journals.map(\.device))
            report.devices = devices.filter { !omitted.contains($0.address) }
            report.forgotten = omitted.count
            report.isEmpty = known.isEmpty
            let addresses = Set(report.devices.map(\.address))
            report.expiries = try reader.expiries().filter { addresses.contains($0.device) }
        } catch {
            guard !report.findings.isEmpty else { throw error }
            // A damaged file may be unreadable in part, but the damage must still be reported.
            report.findings.append("\(error)")
        }
        Terminal.output.write(json ? report.json : report.text(for: .output))
        if report.exitStatus != 0 { throw ExitCode(report.exitStatus) }
    }
}

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

    /// Returns the line of progress of a journal: `comparing lab/left: 1200 samples`.
    static func line(_ outcome: JournalCheck.Outcome) -> String {
        "comparing \(outcome.device): \(counted(outcome.accepted, "sample"))"
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
