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
              lockstep watch --broker mqtt://localhost
              lockstep devices --store sqlite:samples.db
              lockstep query accelerometer --store sqlite:samples.db --from -5m --csv
              lockstep export track --store sqlite:samples.db --out walk.gpx
              lockstep verify --store sqlite:samples.db
            """,
        version: "lockstep \(lockstepVersion)",
        subcommands: [
            DevicesCommand.self, WatchCommand.self, QueryCommand.self, ExportCommand.self, VerifyCommand.self,
            ClockCommand.self, CommandCommand.self, DoctorCommand.self, AnalyzeCommand.self, RefineCommand.self,
            SimulateCommand.self, CopyCommand.self,
            ServeCommand.self,
            RulesCommand.self, DeliveriesCommand.self,
        ])

    static func main() {
        // Without this, a write to a closed pipe would end the process with a signal instead of an error.
        signal(SIGPIPE, SIG_IGN)
        // As above, for a file that is larger than the limit of the process.
        signal(SIGXFSZ, SIG_IGN)
        main(nil)
    }
}
