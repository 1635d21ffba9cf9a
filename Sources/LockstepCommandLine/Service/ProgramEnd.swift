public import ArgumentParser
import Glibc
public import ServiceLifecycle

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

/// Runs the services of a program until one of the first ends, or a signal requests the end of the program; then all of them end.
/// - Parameters:
///   - helpers: services whose end changes nothing.
///   - endsAtHangup: whether SIGHUP ends the program as SIGTERM does.
public func runServices(
    _ services: [any Service], helpers: [any Service] = [], endsAtHangup: Bool = true
) async throws {
    let main = services + [await TerminationSignals(includesHangup: endsAtHangup)]
    let group = ServiceGroup(
        configuration: .init(
            services: main.map { service in
                .init(
                    service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup)
            } + helpers.map { .init(service: $0) },
            logger: .quiet))
    try await group.run()
}

/// Decides what a program does about each SIGTERM, SIGINT or SIGHUP.
///
/// One request to stop may arrive as several signals: `timeout` signals its child and then the whole process group, as does a
/// terminal together with a supervisor. So a signal within a second of the first one belongs to it.
struct TerminationRequests {
    enum Response: Hashable {
        /// Shut down cleanly.
        case shutDown
        /// Continue the shutdown.
        case ignore
        /// End the process at once.
        case end
    }

    /// The time after the first signal in which others belong to it.
    static let interval = Duration.seconds(1)

    private var first: ContinuousClock.Instant?

    /// Handles a signal.
    mutating func receive(at now: ContinuousClock.Instant) -> Response {
        guard let first else {
            first = now
            return .shutDown
        }
        return now - first < Self.interval ? .ignore : .end
    }
}
