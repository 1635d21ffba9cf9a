import Synchronization

/// What this process knows of the addresses of brokers' hosts.
final class AddressMemory: Sendable {
    /// The one that all links share.
    static let shared = AddressMemory()

    private struct State {
        /// The address that worked last and the time that its connection took, by host.
        var used: [String: (address: String, duration: Duration)] = [:]
        /// The addresses to which a connection is being made.
        var pending: Set<String> = []
    }

    /// The shortest and the longest time between the attempts at two addresses (RFC 8305, section 5).
    private static let delays = (shortest: Duration.milliseconds(250), longest: Duration.seconds(2))

    private let state = Mutex(State())

    /// The address of the host that worked last.
    func preferred(of host: String) -> String? { state.withLock { $0.used[host]?.address } }

    /// The time after which the next address of the host is tried: on a slow link, the first one needs longer.
    func delay(of host: String) -> Duration {
        let last = state.withLock { $0.used[host]?.duration } ?? .zero
        return min(max(Self.delays.shortest, last * 2), Self.delays.longest)
    }

    func didConnect(to address: String, of host: String, after duration: Duration) {
        state.withLock { $0.used[host] = (address, duration) }
    }

    /// Begins an attempt.
    /// - Returns: whether there was none: an address that does not answer keeps a thread busy for minutes.
    func begin(_ address: String) -> Bool { state.withLock { $0.pending.insert(address).inserted } }

    func end(_ address: String) { state.withLock { _ = $0.pending.remove(address) } }
}
