package import Logging
import Synchronization

/// Counts and logs refused logins, and slows down addresses with many of them.
///
/// At most some lines a minute are logged: each request of an attacker would otherwise write one. A login that is valid is
/// never refused, whatever its address has done before: others may share the address.
package final class RefusedLogins: Sendable {
    /// The maximum number of lines in each ``window``.
    package static let maxLines = 10
    /// The number of wrong logins of an address in each ``window`` that are answered at once.
    package static let maxWrong = 20
    /// The time over which lines and wrong logins are counted.
    package static let window = Duration.seconds(60)
    /// The maximum number of addresses with counts of their own.
    private static let maxAddresses = 10_000

    private struct State {
        var windowEnd: ContinuousClock.Instant?
        /// The number of refused logins since the start of the window.
        var count = 0
        /// The number of wrong logins of each address since the start of the window.
        var wrong: [String: Int] = [:]
        /// The number of refused logins since the start of the server.
        var total = 0
    }

    private let state = Mutex(State())
    private let logger: Logger
    private let delay: Duration
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - delay: the time after which an address with too many wrong logins gets its answer.
    ///   - now: returns the current time.
    package init(
        logger: Logger, delay: Duration = .seconds(1), now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.logger = logger
        self.delay = delay
        self.now = now
    }

    /// The number of refused logins since the start.
    package var total: Int { state.withLock { $0.total } }

    /// - Parameters:
    ///   - user: the user name in the request, or nil if it has none.
    ///   - hasLogin: whether the request has any login. One without is not an attempt to guess one.
    /// - Returns: whether the client has sent too many wrong logins.
    @discardableResult
    package func record(user: String?, hasLogin: Bool, path: String, client: Client) -> Bool {
        let time = now()
        let (isLogged, unlogged, isTooMany) = state.withLock { state in
            var unlogged = 0
            if state.windowEnd.map({ time >= $0 }) ?? true {
                unlogged = max(0, state.count - Self.maxLines)
                state = State(windowEnd: time + Self.window, total: state.total)
            }
            state.count += 1
            state.total += 1
            let key = client.sharedKey
            if hasLogin, state.wrong[key] != nil || state.wrong.count < Self.maxAddresses {
                state.wrong[key, default: 0] += 1
            }
            return (state.count <= Self.maxLines, unlogged, hasLogin && state.wrong[key, default: 0] > Self.maxWrong)
        }
        guard isLogged else { return isTooMany }
        var metadata: Logger.Metadata = [
            "path": "\(path.prefix(200))", "address": "\(client.address)",
            "reason": hasLogin ? "wrong user or token" : "no login",
        ]
        if let user { metadata["user"] = "\(user.prefix(64))" }
        if unlogged > 0 { metadata["unlogged"] = "\(unlogged)" }
        logger.warning("login refused", metadata: metadata)
        return isTooMany
    }

    /// Records a refused login, and returns its answer: `problem`, or 429 after a pause if the client has sent too many
    /// wrong logins.
    package func answer(
        _ problem: Problem, user: String? = nil, hasLogin: Bool, path: String, client: Client
    ) async throws -> Problem {
        guard record(user: user, hasLogin: hasLogin, path: path, client: client) else { return problem }
        try await Task.sleep(for: delay)
        return .tooManyRequests(
            "your address has sent more than \(Self.maxWrong) wrong logins in a minute: send a valid one, or try again "
                + "later", retryAfter: Int(Self.window / .seconds(1)))
    }
}
