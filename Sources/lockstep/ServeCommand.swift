import ArgumentParser
import Glibc
import LockstepCommandLine
import LockstepModel

struct ServeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve a page, an HTTP API and metrics of all devices.",
        discussion: """
            Executes the program lockstep-serve with all arguments. Its help is shown by 'lockstep-serve --help'.

            EXAMPLE
              lockstep serve --broker mqtt://localhost --store sqlite:samples.db
            """)

    @Argument(parsing: .captureForPassthrough, help: "The arguments of lockstep-serve.")
    var arguments: [String] = []

    func run() throws {
        // The server is a program of its own, so that this one does not contain a web server.
        let name = "lockstep-serve"
        if let program = ProgramLocation.lockstep(name) { execute(program) } else { errno = ENOENT }
        let reason = errno == ENOENT ? "it is not installed" : String(cString: strerror(errno))
        throw CommandFailure(
            "cannot execute \(name): \(reason): install it beside "
                + "\(ProgramLocation.own.isEmpty ? "lockstep" : ProgramLocation.own), or in a folder of PATH")
    }

    /// Replaces this process by a program. Returns only if this fails.
    private func execute(_ program: String) {
        // Other programs expect the default action for this signal, which main() changed.
        signal(SIGPIPE, SIG_DFL)
        var texts = ([program] + arguments).map { strdup($0) }
        texts.append(nil)
        execv(program, texts)
        let error = errno
        for text in texts { free(text) }
        errno = error
    }
}
