public import LockstepModel

/// The sampling rates that clients have leased, each for a limited time.
public struct LeaseRegistry: Sendable {
    /// The maximum number of leases, so that clients cannot exhaust the memory.
    public static let maxLeases = 1000

    private struct Key: Hashable {
        let client: String
        let stream: SensorStream
    }

    private struct Lease {
        let rate: Double
        /// The time of expiry, in µs of the boot clock.
        let until: Int64
    }

    private var leases: [Key: Lease] = [:]

    /// Creates an empty registry.
    public init() {}

    /// Adds a lease, which replaces the client's lease of the same stream. A rate of 0 ends that lease.
    /// - Parameter boot: the current time in µs of the boot clock.
    /// - Returns: false if the maximum number of leases is reached.
    public mutating func add(_ lease: RateLease, of client: String, at boot: Int64) -> Bool {
        let key = Key(client: client, stream: lease.stream)
        if lease.rate == 0 {
            leases[key] = nil
            return true
        }
        guard leases[key] != nil || leases.count < Self.maxLeases else { return false }
        leases[key] = Lease(rate: lease.rate, until: boot + Int64(lease.duration * 1e6))
        return true
    }

    /// Removes expired leases.
    /// - Parameter boot: the current time in µs of the boot clock.
    /// - Returns: whether a lease has expired.
    public mutating func expire(at boot: Int64) -> Bool {
        guard let nextExpiry, boot >= nextExpiry else { return false }
        leases = leases.filter { $0.value.until > boot }
        return true
    }

    /// The time at which the next lease expires, in µs of the boot clock, or nil if there is none.
    public var nextExpiry: Int64? { leases.values.map(\.until).min() }

    /// The fastest leased rate of each stream, in samples a second.
    public var rates: [SensorStream: Double] {
        leases.reduce(into: [:]) { rates, lease in
            rates[lease.key.stream] = max(rates[lease.key.stream] ?? 0, lease.value.rate)
        }
    }

    /// Returns all leases, sorted by client and stream.
    /// - Parameter timestamp: converts a time in µs of the boot clock to wall time.
    func described(timestamp: (Int64) -> Timestamp) -> [AgentDescription.Lease] {
        leases.map { key, lease in
            AgentDescription.Lease(
                client: key.client, stream: key.stream, rate: lease.rate, until: timestamp(lease.until))
        }
        .sorted { ($0.client, $0.stream.name) < ($1.client, $1.stream.name) }
    }
}
