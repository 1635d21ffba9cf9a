import Glibc
public import ServiceLifecycle
import UnixSignals

/// SIGTERM and SIGINT: the first ends the group of services cleanly, the second ends the process at once.
///
/// Belongs into a group with `successTerminationBehavior: .gracefullyShutdownGroup`. The group's own handling of
/// signals hears the first one only.
public struct EndSignals: Service {
    private let signals: UnixSignalsSequence

    /// Traps the signals. To be done before any of the services runs: none of them hears of one that comes until then.
    public init() async { signals = await UnixSignalsSequence(trapping: .sigterm, .sigint) }

    /// Ends with the first signal, or when the group shuts down for another reason.
    public func run() async throws {
        let (first, continuation) = AsyncStream<Void>.makeStream()
        // Outlives this service: the second signal comes while the others end.
        Task.detached {
            var isFirst = true
            for await signal in signals {
                if isFirst { continuation.yield() } else { die(of: signal.rawValue) }
                isFirst = false
            }
        }
        for await _ in first.cancelOnGracefulShutdown() { return }
    }
}

/// Ends the process as if it had never trapped the signal, so that its parent sees what it died of.
private func die(of number: Int32) -> Never {
    signal(number, SIG_DFL)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, number)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(number)
    _exit(128 + number)
}
