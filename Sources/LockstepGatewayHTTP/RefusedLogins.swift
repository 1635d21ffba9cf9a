import Logging
import Synchronization

/// Logs refused logins, at most some in a minute: each request of an attacker would otherwise write a line.
final class RefusedLogins: Sendable {
    /// The maximum number of lines in each ``window``.
    static let maxLines = 10
    /// The time over which lines are counted.
    static let window = Duration.seconds(60)

    private struct State {
        var windowEnd: ContinuousClock.Instant?
        /// The number of refused logins since the start of the window.
        var count = 0
    }

    private let state = Mutex(State())
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: returns the current time.
    init(logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.logger = logger
        self.now = now
    }

    /// Logs a refused login.
    /// - Parameters:
    ///   - user: the user name in the request, or nil if it has none.
    ///   - hasLogin: whether the request has any login.
    ///   - path: the path of the request.
    ///   - address: the address of the other end of the connection, or nil if unknown.
    func record(user: String?, hasLogin: Bool, path: String, address: String?) {
        let time = now()
        let (isLogged, unlogged) = state.withLock { state in
            var unlogged = 0
            if state.windowEnd.map({ time >= $0 }) ?? true {
                unlogged = max(0, state.count - Self.maxLines)
                state = State(windowEnd: time + Self.window)
            }
            state.count += 1
            return (state.count <= Self.maxLines, unlogged)
        }
        guard isLogged else { return }
        var metadata: Logger.Metadata = [
            "path": "\(path)", "address": "\(address ?? "unknown")",
            "reason": hasLogin ? "wrong user or token" : "no login",
        ]
        if let user { metadata["user"] = "\(user.prefix(64))" }
        if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
        logger.warning("login refused", metadata: metadata)
    }
}
