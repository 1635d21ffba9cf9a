import ArgumentParser
import LockstepAgent
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Proves the store: received batches, gaps, and samples against journals.",
        discussion: """
            An agent that runs with --journal keeps every batch it accepted in its outbox file. With --journal each of \
            those samples is looked up and compared.

            Exit code 1 if anything is missing: a gap, a batch that an agent dropped, a sample of a journal that is not \
            stored or stored with another value, or a damaged file.
            """)

    @OptionGroup var options: StoreOptions

    @Option(help: "[[GROUP/]DEVICE=]OUTBOX: an agent's outbox file; may be repeated.")
    var journal: [String] = []

    @Flag(help: "One JSON object.")
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
            // A damaged file can't always be read to its end; what the damage is has still to be told.
            report.findings.append("\(error)")
        }
        Terminal.output.write(json ? report.json : report.text(for: .output))
        if !report.isComplete { throw ExitCode(1) }
    }
}
