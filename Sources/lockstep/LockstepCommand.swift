import ArgumentParser
import Glibc
import LockstepCommandLine

@main
struct LockstepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep",
        abstract: "Looks at a Lockstep: its devices, its samples, and whether all of them are there.",
        discussion: """
            --store is also LOCKSTEP_STORE in the environment and 'store: …' in the YAML file named with --config or \
            LOCKSTEP_CONFIG; --root, --broker and what belongs to it as well. The command line comes first, then the \
            environment, then the file.

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
        // A reader that goes away ends a write with an error, not the program with a signal.
        signal(SIGPIPE, SIG_IGN)
        main(nil)
    }
}
