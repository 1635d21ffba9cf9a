/// A request to an agent, sent to its `command` topic.
public struct AgentRequest: Sendable, Hashable {
    /// An id chosen by the requester, or nil. The reply repeats it.
    public var id: String?
    /// The name of the requester, or nil. A new lease replaces an earlier lease of the same client and stream.
    public var client: String?
    /// The requested action.
    public var action: Action

    /// An action that an agent can perform on request.
    public enum Action: Sendable, Hashable {
        /// Publish a stream at a higher rate for a limited time.
        case lease(RateLease)
        /// Change to the phase `foreground`, `inactive` or `background`.
        case phase(Phase)
        /// Publish pending samples without waiting for the end of their window.
        case flush
        /// Report the agent's configuration and state, see ``AgentDescription``.
        case describe
        /// Calibrate accelerometer and gyroscope from now on, or no longer if it is nil.
        case calibrate(InertialCalibration?)
    }

    /// Creates a request.
    public init(id: String? = nil, client: String? = nil, action: Action) {
        self.id = id
        self.client = client
        self.action = action
    }
}

/// A request for a minimum publishing rate of one stream for a limited time.
public struct RateLease: Sendable, Hashable {
    /// The valid rates, in samples per second. A rate of 0 is also valid and ends the client's lease.
    public static let validRates = 0.001...10_000.0
    /// The valid durations, in seconds.
    public static let validDurations = 1.0...86_400.0

    /// The leased stream.
    public var stream: SensorStream
    /// The requested rate, in samples per second. 0 ends the client's lease.
    public var rate: Double
    /// The duration of the lease, in seconds.
    public var duration: Double

    /// Creates a lease.
    public init(stream: SensorStream, rate: Double, duration: Double) {
        self.stream = stream
        self.rate = rate
        self.duration = duration
    }
}

/// An agent's reply to a request, sent to its `command/reply` topic.
public struct AgentReply: Sendable, Hashable {
    /// The id of the request, or nil if it has none.
    public var id: String?
    /// The result of the request.
    public var outcome: Outcome
    /// After a flush, the number of the newest batch of each epoch that the device still has or that is the current one: all
    /// samples until the flush are in batches up to these. Nil if the agent does not report it.
    public var newest: [Epoch: Int64]?

    /// The result of a request.
    public enum Outcome: Sendable, Hashable {
        /// The lease was accepted and ends at `until`, or was ended if `until` is nil. The stream is now published at
        /// `rate` samples per second: nil means not published, infinity means the native rate of its source.
        case leased(stream: SensorStream, rate: Double?, until: Timestamp?)
        /// The agent changed to this phase.
        case phase(Phase)
        /// The agent wrote this number of batches to its outbox and sent them to the broker.
        case flushed(batches: Int)
        /// The agent returned its configuration and state.
        case described(AgentDescription)
        /// The agent applies this calibration from now on; nil if it applies none.
        case calibrated(InertialCalibration?)
        /// The request was refused for this reason.
        case failed(String)
    }

    /// Creates a reply.
    public init(id: String? = nil, outcome: Outcome, newest: [Epoch: Int64]? = nil) {
        self.id = id
        self.outcome = outcome
        self.newest = newest
    }
}

/// A snapshot of an agent's configuration and state.
public struct AgentDescription: Sendable, Hashable {
    /// A stream that the agent can publish.
    public struct Stream: Sendable, Hashable {
        /// The stream.
        public var stream: SensorStream
        /// The publishing rate in samples per second. Nil means not published, infinity the native rate of the source.
        public var rate: Double?

        /// Creates the description of a stream.
        public init(stream: SensorStream, rate: Double?) {
            self.stream = stream
            self.rate = rate
        }
    }

    /// A lease that is in effect.
    public struct Lease: Sendable, Hashable {
        /// The name of the requester.
        public var client: String
        /// The leased stream.
        public var stream: SensorStream
        /// The leased rate, in samples per second.
        public var rate: Double
        /// The end of the lease.
        public var until: Timestamp

        /// Creates the description of a lease.
        public init(client: String, stream: SensorStream, rate: Double, until: Timestamp) {
            self.client = client
            self.stream = stream
            self.rate = rate
            self.until = until
        }
    }

    /// The epoch of the agent's outbox.
    public var epoch: Epoch
    /// The agent's phase.
    public var phase: Phase
    /// The streams that the agent can publish.
    public var streams: [Stream]
    /// The leases in effect.
    public var leases: [Lease]
    /// The status text of each source, keyed by source name: `running`, `no fix`, `stale: …`.
    public var sources: [String: String]
    /// The calibration that the agent applies, or nil.
    public var calibration: InertialCalibration?
    /// The number of batches in the outbox.
    public var outboxBatches: Int
    /// The total payload size of the batches in the outbox, in bytes.
    public var outboxBytes: Int64
    /// The number of samples that the agent has dropped since its outbox was created.
    public var droppedSamples: Int64

    /// Creates a description.
    public init(
        epoch: Epoch, phase: Phase, streams: [Stream], leases: [Lease], sources: [String: String],
        calibration: InertialCalibration? = nil, outboxBatches: Int, outboxBytes: Int64, droppedSamples: Int64
    ) {
        self.epoch = epoch
        self.phase = phase
        self.streams = streams
        self.leases = leases
        self.sources = sources
        self.calibration = calibration
        self.outboxBatches = outboxBatches
        self.outboxBytes = outboxBytes
        self.droppedSamples = droppedSamples
    }
}
