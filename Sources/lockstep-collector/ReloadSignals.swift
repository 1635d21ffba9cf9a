import ServiceLifecycle
import UnixSignals

/// Calls a function for each SIGHUP.
struct ReloadSignals: Service {
    private let signals: UnixSignalsSequence
    private let reload: @Sendable () -> Void

    /// Starts to handle the signal.
    init(_ reload: @escaping @Sendable () -> Void) async {
        signals = await UnixSignalsSequence(trapping: .sighup)
        self.reload = reload
    }

    func run() async throws {
        for await _ in signals.cancelOnGracefulShutdown() { reload() }
    }
}
