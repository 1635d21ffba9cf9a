public import LockstepModel

/// The rates that clients lease, each for a while.
public struct LeaseRegistry: Sendable {
    /// Leases held at the same time, so that a client can't fill the memory.
    public static let most = 1000

    private struct Key: Hashable {
        let client: String
        let stream: SensorStream
    }

    private struct Lease {
        let rate: Double
        /// µs of the boot clock.
        let until: Int64
    }

    private var leases: [Key: Lease] = [:]

    public init() {}

    /// Takes a lease in; it replaces the one that the client had of this stream.
    /// - Parameter boot: the present in µs of the boot clock.
    /// - Returns: false where there are too many already.
    public mutating func take(_ lease: RateLease, of client: String, at boot: Int64) -> Bool {
        let key = Key(client: client, stream: lease.stream)
        if lease.rate == 0 {
            leases[key] = nil
            return true
        }
        guard leases[key] != nil || leases.count < Self.most else { return false }
        leases[key] = Lease(rate: lease.rate, until: boot + Int64(lease.duration * 1e6))
        return true
    }

    /// Ends what is over.
    /// - Returns: whether a lease has ended.
    public mutating func expire(at boot: Int64) -> Bool {
        guard let nextExpiry, boot >= nextExpiry else { return false }
        leases = leases.filter { $0.value.until > boot }
        return true
    }

    /// When the next lease ends, in µs of the boot clock.
    public var nextExpiry: Int64? { leases.values.map(\.until).min() }

    /// The fastest rate of each stream, in samples a second.
    public var rates: [SensorStream: Double] {
        leases.reduce(into: [:]) { rates, lease in
            rates[lease.key.stream] = max(rates[lease.key.stream] ?? 0, lease.value.rate)
        }
    }

    /// All of them, by client and stream; `timestamp` puts their ends on the time line.
    func described(timestamp: (Int64) -> Timestamp) -> [AgentDescription.Lease] {
        leases.map { key, lease in
            AgentDescription.Lease(
                client: key.client, stream: key.stream, rate: lease.rate, until: timestamp(lease.until))
        }
        .sorted { ($0.client, $0.stream.name) < ($1.client, $1.stream.name) }
    }
}
