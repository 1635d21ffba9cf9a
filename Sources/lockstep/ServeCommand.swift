import ArgumentParser
import Glibc
import LockstepCommandLine

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
        var path = [UInt8](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        let own = String(decoding: path[..<max(0, count)], as: UTF8.self)
        let beside = own.lastIndex(of: "/").map { own[...$0] + name }
        // The program beside this one has the same version; the one in PATH may be another.
        if let beside, access(String(beside), X_OK) == 0 { execute(String(beside)) }
        execute(name)
        let reason = errno == ENOENT ? "it is not installed" : String(cString: strerror(errno))
        throw CommandFailure(
            "cannot execute \(name): \(reason): install it beside \(own.isEmpty ? "lockstep" : own), or in a folder of "
                + "PATH")
    }

    /// Replaces this process by a program. Returns only if this fails.
    private func execute(_ program: String) {
        // Other programs expect the default action for this signal, which main() changed.
        signal(SIGPIPE, SIG_DFL)
        var texts = ([program] + arguments).map { strdup($0) }
        texts.append(nil)
        execvp(program, texts)
        let error = errno
        for text in texts { free(text) }
        errno = error
    }
}
