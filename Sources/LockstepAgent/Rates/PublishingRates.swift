public import LockstepModel
public import LockstepSensors

/// The rates at which an agent publishes its streams in each phase.
public struct PublishingRates: Sendable, Hashable {
    /// The requests in foreground by stream. Streams without an entry use the default.
    public var foreground: [SensorStream: SensorRequest]
    /// The requests in background by stream. Streams without an entry use the default.
    public var background: [SensorStream: SensorRequest]

    /// Creates rates that differ from the defaults for the given streams.
    public init(
        foreground: [SensorStream: SensorRequest] = [:], background: [SensorStream: SensorRequest] = [:]
    ) {
        self.foreground = foreground
        self.background = background
    }

    /// Returns the requests to the sensors. A stream without an entry is not published.
    /// - Parameters:
    ///   - phase: the phase of the agent. Streams are only published in `foreground` and `background`.
    ///   - leased: the fastest leased rate of each stream, in samples a second.
    ///   - streams: the available streams.
    public func requests(
        in phase: Phase, leased: [SensorStream: Double], streams: [SensorStream]
    ) -> [SensorStream: SensorRequest] {
        guard phase == .foreground || phase == .background else { return [:] }
        var requests: [SensorStream: SensorRequest] = [:]
        for stream in streams {
            var request = phase == .foreground ? foregroundRequest(of: stream) : backgroundRequest(of: stream)
            if let rate = leased[stream] {
                // A lease has no distance filter: it promises its rate wherever the device is.
                request =
                    request.rate.isInfinite
                    ? SensorRequest(rate: .infinity, minimum: rate) : SensorRequest(rate: max(rate, request.rate))
            }
            if request.rate > 0 { requests[stream] = request }
        }
        return requests
    }

    private func foregroundRequest(of stream: SensorStream) -> SensorRequest {
        foreground[stream] ?? SensorRequest(rate: stream.defaultRate ?? .infinity)
    }

    private func backgroundRequest(of stream: SensorStream) -> SensorRequest {
        if let request = background[stream] { return request }
        let foreground = foregroundRequest(of: stream)
        // A stream that is off in the foreground stays off in the background.
        guard foreground.rate > 0 else { return SensorRequest(rate: 0) }
        switch stream.background {
        case .paused: return SensorRequest(rate: 0)
        case .unchanged: return .everything
        case .rate(let rate): return SensorRequest(rate: min(rate, foreground.rate))
        case .distance(let distance): return SensorRequest(rate: .infinity, distance: distance)
        }
    }
}

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
