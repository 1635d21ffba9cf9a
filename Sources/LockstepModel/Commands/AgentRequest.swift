/// What someone asks an agent for, on its `command` topic.
public struct AgentRequest: Sendable, Hashable {
    /// What the asker calls this request; comes back in the reply.
    public var id: String?
    /// Who asks: a lease of the same client and stream takes the place of the one before.
    public var client: String?
    public var action: Action

    public enum Action: Sendable, Hashable {
        case lease(RateLease)
        /// `foreground`, `inactive` or `background`.
        case phase(Phase)
        /// Publish what waits for the end of its window.
        case flush
        /// Tell what there is: streams, rates, leases, sensors, outbox.
        case describe
    }

    public init(id: String? = nil, client: String? = nil, action: Action) {
        self.id = id
        self.client = client
        self.action = action
    }
}

/// A rate that someone wants of a stream for a while.
public struct RateLease: Sendable, Hashable {
    /// Samples a second that a lease can be for; a lease of 0 ends the one before.
    public static let rates = 0.001...10_000.0
    /// How long a lease can be, in s.
    public static let durations = 1.0...86_400.0

    public var stream: SensorStream
    /// Samples a second; 0 ends the client's lease.
    public var rate: Double
    /// s.
    public var duration: Double

    public init(stream: SensorStream, rate: Double, duration: Double) {
        self.stream = stream
        self.rate = rate
        self.duration = duration
    }
}

/// An agent's answer, on its `command/reply` topic.
public struct AgentReply: Sendable, Hashable {
    public var id: String?
    public var outcome: Outcome

    public enum Outcome: Sendable, Hashable {
        /// The stream is published at `rate` samples a second (nil: not at all; infinite: as its source gives it); the
        /// lease ends at `until`.
        case leased(stream: SensorStream, rate: Double?, until: Timestamp?)
        case phase(Phase)
        /// So many batches were written and handed to the broker.
        case flushed(batches: Int)
        case described(AgentDescription)
        /// Refused, with the reason.
        case failed(String)
    }

    public init(id: String? = nil, outcome: Outcome) {
        self.id = id
        self.outcome = outcome
    }
}

/// What an agent has and does.
public struct AgentDescription: Sendable, Hashable {
    public struct Stream: Sendable, Hashable {
        public var stream: SensorStream
        /// Samples a second it is published at; nil: not at all; infinite: as its source gives it.
        public var rate: Double?

        public init(stream: SensorStream, rate: Double?) {
            self.stream = stream
            self.rate = rate
        }
    }

    public struct Lease: Sendable, Hashable {
        public var client: String
        public var stream: SensorStream
        /// Samples a second.
        public var rate: Double
        public var until: Timestamp

        public init(client: String, stream: SensorStream, rate: Double, until: Timestamp) {
            self.client = client
            self.stream = stream
            self.rate = rate
            self.until = until
        }
    }

    public var epoch: Epoch
    public var phase: Phase
    public var streams: [Stream]
    public var leases: [Lease]
    /// What each source has to say, by its name.
    public var sources: [String: String]
    /// Batches in the outbox, and their payload's bytes.
    public var outboxBatches: Int
    public var outboxBytes: Int64
    public var droppedSamples: Int64

    public init(
        epoch: Epoch, phase: Phase, streams: [Stream], leases: [Lease], sources: [String: String], outboxBatches: Int,
        outboxBytes: Int64, droppedSamples: Int64
    ) {
        self.epoch = epoch
        self.phase = phase
        self.streams = streams
        self.leases = leases
        self.sources = sources
        self.outboxBatches = outboxBatches
        self.outboxBytes = outboxBytes
        self.droppedSamples = droppedSamples
    }
}
