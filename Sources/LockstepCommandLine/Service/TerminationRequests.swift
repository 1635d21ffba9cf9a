/// Decides what a program does about each SIGTERM or SIGINT.
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
