import ArgumentParser
import Glibc
import LockstepCommandLine

@main
struct LockstepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep",
        abstract: "Inspect devices, query samples and verify delivery.",
        discussion: """
            The store and the broker options can also be set in the environment (LOCKSTEP_STORE, LOCKSTEP_BROKER, …) \
            and in a YAML file ('store: …') whose path is given by --config or LOCKSTEP_CONFIG. The command line \
            takes precedence over the environment, and the environment over the file.

            EXAMPLES
              lockstep watch --broker mqtt://localhost
              lockstep devices --store sqlite:samples.db
              lockstep query accelerometer --store sqlite:samples.db --from -5m --csv
              lockstep verify --store sqlite:samples.db
            """,
        version: "lockstep \(lockstepVersion)",
        subcommands: [
            DevicesCommand.self, WatchCommand.self, QueryCommand.self, VerifyCommand.self, CommandCommand.self,
            DoctorCommand.self, AnalyzeCommand.self, SimulateCommand.self,
        ])

    static func main() {
        // Without this, a write to a closed pipe would end the process with a signal instead of an error.
        signal(SIGPIPE, SIG_IGN)
        main(nil)
    }
}
