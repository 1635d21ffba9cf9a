import Glibc
public import ServiceLifecycle
import UnixSignals

/// Handles SIGTERM, SIGINT and SIGHUP, which the end of a terminal sends: the first signal shuts the service group down, and
/// one that arrives at least a second later ends the process at once. See ``TerminationRequests``.
///
/// Add it to a group with `successTerminationBehavior: .gracefullyShutdownGroup`. It replaces the signal handling of
/// swift-service-lifecycle, which ignores the second signal.
public struct TerminationSignals: Service {
    private let signals: UnixSignalsSequence

    /// Starts to handle the signals. Call it before any service runs, so that no signal ends the process without a
    /// shutdown.
    /// - Parameter includesHangup: whether SIGHUP ends the program, unless `nohup` has told it to ignore that signal.
    public init(includesHangup: Bool = true) async {
        signals =
            includesHangup && !isIgnored(SIGHUP)
            ? await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
            : await UnixSignalsSequence(trapping: .sigterm, .sigint)
    }

    /// Returns at the first signal, or when the group shuts down for another reason.
    public func run() async throws {
        let (first, continuation) = AsyncStream<Void>.makeStream()
        // This task outlives the service, because the second signal may arrive while the other services shut down.
        Task.detached {
            var requests = TerminationRequests()
            for await signal in signals {
                switch requests.receive(at: .now) {
                case .shutDown: continuation.yield()
                case .ignore: break
                case .end: endProcess(with: signal.rawValue)
                }
            }
        }
        for await _ in first.cancelOnGracefulShutdown() { return }
    }
}

private func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    // SIG_IGN.
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
}

/// Ends the process with the default action of the signal, so that the parent process sees the signal.
private func endProcess(with number: Int32) -> Never {
    signal(number, SIG_DFL)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, number)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(number)
    _exit(128 + number)
}
