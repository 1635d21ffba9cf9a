import ArgumentParser
import Glibc
import LockstepCommandLine

@main
struct LockstepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep",
        abstract: "Inspect devices, query and export samples, and verify delivery.",
        discussion: """
            The options --store and --root, and those of the broker, can also be set in the environment or in a YAML \
            file: --store is LOCKSTEP_STORE in the environment and 'store: …' in the file. The command line \
            overrides the environment, and the environment overrides the file.

            EXAMPLES
              lockstep up
              lockstep watch --broker mqtt://localhost
              lockstep devices --store sqlite:samples.db
              lockstep query accelerometer --store sqlite:samples.db --from -5m --csv
              lockstep export track --store sqlite:samples.db --out walk.gpx
              lockstep verify --store sqlite:samples.db
              lockstep backup --store sqlite:samples.db backup.db
            """,
        version: "lockstep \(lockstepVersion)",
        groupedSubcommands: [
            CommandGroup(name: "System", subcommands: [UpCommand.self, CertsCommand.self]),
            CommandGroup(
                name: "Live",
                subcommands: [
                    WatchCommand.self, DevicesCommand.self, DoctorCommand.self, CommandCommand.self,
                    CalibrateCommand.self, RecordCommand.self, ForgetCommand.self, ServeCommand.self,
                ]),
            CommandGroup(
                name: "Store",
                subcommands: [
                    QueryCommand.self, ExportCommand.self, VerifyCommand.self, BackupCommand.self, CopyCommand.self,
                    HoldCommand.self, DeleteCommand.self, ArchiveCommand.self, CompactCommand.self,
                ]),
            CommandGroup(
                name: "Analysis",
                subcommands: [ClockCommand.self, AlignCommand.self, RefineCommand.self, AnalyzeCommand.self]),
            CommandGroup(name: "Notification", subcommands: [RulesCommand.self, DeliveriesCommand.self]),
            CommandGroup(name: "Test", subcommands: [SimulateCommand.self]),
        ])

    static func main() {
        // Without this, a write to a closed pipe would end the process with a signal instead of an error.
        signal(SIGPIPE, SIG_IGN)
        // As above, for a file that is larger than the limit of the process.
        signal(SIGXFSZ, SIG_IGN)
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let message = fullMessage(for: error)
            let arguments = Array(CommandLine.arguments.dropFirst())
            guard exitCode(for: error) != .success,
                let improved = ParsingMessage.improved(message, of: arguments, in: Self.self)
            else { endProgram(with: error) }
            Terminal.writeError(improved)
            LockstepCommandLine.endProgram(exitCode(for: error).rawValue)
        }
        LockstepCommandLine.endProgram(0)
    }
}
