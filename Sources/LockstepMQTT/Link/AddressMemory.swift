import Synchronization

/// What this process knows of the addresses of brokers' hosts.
final class AddressMemory: Sendable {
    /// The one that all links share.
    static let shared = AddressMemory()

    /// What a connection is made to.
    struct Target: Hashable {
        let address: String
        let port: UInt16
    }

    private struct State {
        /// The address that worked last and the time that its connection took, by host.
        var used: [String: (address: String, duration: Duration)] = [:]
        /// The starts of the attempts that are running, the earliest first.
        var running: [Target: [ContinuousClock.Instant]] = [:]
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
    /// - Returns: its start, or nil if another attempt has had no answer for some time: an address that does not answer keeps
    ///   a thread busy for minutes. An attempt that has just begun, such as that of another link, says nothing.
    func begin(_ target: Target, at now: ContinuousClock.Instant = .now) -> ContinuousClock.Instant? {
        state.withLock {
            if let earliest = $0.running[target]?.first, now - earliest > Self.delays.longest { return nil }
            $0.running[target, default: []].append(now)
            return now
        }
    }

    func end(_ target: Target, begunAt start: ContinuousClock.Instant) {
        state.withLock {
            guard var starts = $0.running.removeValue(forKey: target) else { return }
            if let index = starts.firstIndex(of: start) { starts.remove(at: index) }
            if !starts.isEmpty { $0.running[target] = starts }
        }
    }
}
