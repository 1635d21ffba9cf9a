public import ArgumentParser
import Glibc

extension AsyncParsableCommand {
    /// Parses the arguments, runs the command and ends the process. A program calls it from its `main()`.
    ///
    /// It replaces `main()` of ArgumentParser, which ends the process with `exit`, see ``endProgram(_:)``.
    public static func runProgram() async -> Never {
        do {
            var command = try await asyncParseAsRoot()
            if var asyncCommand = command as? any AsyncParsableCommand {
                try await asyncCommand.run()
            } else {
                try command.run()
            }
        } catch {
            endProgram(with: error)
        }
        LockstepCommandLine.endProgram(0)
    }
}

extension ParsableArguments {
    /// Writes the text of an error, or the requested help or version, and ends the process with its status.
    public static func endProgram(with error: any Error) -> Never {
        let status = exitCode(for: error)
        let text = fullMessage(for: error)
        if !text.isEmpty {
            if status == .success { Terminal.output.write(text + "\n") } else { Terminal.writeError(text) }
        }
        LockstepCommandLine.endProgram(status.rawValue)
    }
}

/// Ends the process at once, after what was printed is written. Programs never call `exit`.
///
/// `exit` runs the clean-up of all libraries while the other threads continue. OpenSSL's frees what a TLS handshake on
/// another thread is using, and such a handshake cannot be interrupted: the process would crash.
public func endProgram(_ status: Int32) -> Never {
    fflush(nil)
    _exit(status)
}
