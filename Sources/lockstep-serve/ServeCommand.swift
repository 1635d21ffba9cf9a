import ArgumentParser
import LockstepCommandLine
import LockstepServe

/// The program `lockstep-serve`.
@main
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lockstep-serve", abstract: "Serve a page, an HTTP API and metrics of all devices.",
        version: "lockstep-serve \(lockstepVersion)")

    func run() async throws {}
}
