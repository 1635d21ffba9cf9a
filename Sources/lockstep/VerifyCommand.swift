import ArgumentParser
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Verify that no sample is missing from the store.",
        discussion: """
            Checks the file, and lists received, missing and dropped batches of each device. Dropped batches will \
            never be stored, because the agent dropped them or the collector rejected them.

            An agent that runs with --journal keeps every accepted batch in its outbox. If such an outbox is given \
            with --journal, each of its samples is looked up in the store and compared.

            The exit status is 1 if a batch is missing or dropped, if a sample of a journal is not stored or has \
            another value, or if the file is damaged.
            """)

    @OptionGroup var options: StoreOptions

    @Option(help: "Outbox of an agent, as [[GROUP/]DEVICE=]OUTBOX; may be repeated.")
    var journal: [String] = []

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let reader = try options.reader()
        var report = VerifyReport(findings: try reader.integrityCheck())
        do {
            report.devices = try reader.verification()
            report.journals = try journal.map {
                try JournalCheck(specification: $0, devices: report.devices, streams: reader.catalog()).run(reader)
            }
        } catch {
            guard !report.findings.isEmpty else { throw error }
            // A damaged file may be unreadable in part, but the damage must still be reported.
            report.findings.append("\(error)")
        }
        Terminal.output.write(json ? report.json : report.text(for: .output))
        if !report.isComplete { throw ExitCode(1) }
    }
}
