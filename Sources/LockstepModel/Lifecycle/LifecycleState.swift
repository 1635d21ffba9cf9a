/// The life-cycle state of a device, modelled on the app states of phone platforms.
public enum LifecycleState: String, Sendable, Codable, CaseIterable {
    /// The device runs and sends live samples.
    case active
    /// The device is interrupted: its sensors pause, but it is reachable.
    case inactive
    /// The device runs at background rates, is silent, or has lost its connection.
    case background
    /// The device has recently returned from `background` or `terminated`. It becomes `active` after a settling time.
    case resumed
    /// The agent stopped cleanly.
    case terminated
}

/// The phase that an agent reports in its presence message.
public enum Phase: String, Sendable, Codable, CaseIterable {
    /// Full operation at foreground rates.
    case foreground
    /// Interrupted: sensors pause.
    case inactive
    /// Operation at background rates.
    case background
    /// Clean stop.
    case terminated
    /// Connection lost. The broker publishes this phase as the agent's last will.
    case lost
}

/// A change of a device's life-cycle state.
public struct LifecycleTransition: Hashable, Sendable {
    /// The previous state, or nil for the device's first transition.
    public let from: LifecycleState?
    /// The new state.
    public let to: LifecycleState
    /// The time of the change: the time reported by the device if there is one, otherwise the collector's clock.
    public let since: Timestamp
    /// The cause: `foreground`, `inactive`, `background`, `terminated`, `live-sample`, `connection-lost`, `silent`,
    /// `settled`, or the reason given by the agent.
    public let reason: String
    /// The sequence number of the transition for this device, starting at 1.
    public let seq: Int64

    /// Creates a transition.
    public init(from: LifecycleState?, to: LifecycleState, since: Timestamp, reason: String, seq: Int64) {
        self.from = from
        self.to = to
        self.since = since
        self.reason = reason
        self.seq = seq
    }
}

/// An agent's status message, retained on its `presence` topic.
public struct Presence: Hashable, Sendable {
    /// The epoch of the agent's outbox.
    public var epoch: Epoch?
    /// The epoch that preceded `epoch`. It determines the order of two epochs even if the clock was set back in between.
    public var after: Epoch?
    /// The start of the agent's connection, in µs since 1970. A later session has a higher number.
    public var session: Int64?
    /// The agent's phase.
    public var phase: Phase
    /// The time of the message on the device's time line, or nil if the sender does not report it. A last will carries
    /// the time of its connection.
    public var at: Timestamp?
    /// The cause of the phase.
    public var reason: String?
    /// The number of the newest batch of `epoch`, or nil if the sender does not report it, or if this message is only about
    /// an earlier epoch.
    public var seq: Int64?
    /// The batches in the agent's outbox, by epoch: those that it has and that no collector has acknowledged. The agent has
    /// no others up to `seq`. See ``OutboxReport``.
    public var pending: [Epoch: SequenceSet]
    /// The numbers of the batches of `epoch` that the agent's outbox dropped and will never send.
    public var dropped: [ClosedRange<Int64>]
    /// The number of samples that the agent has dropped since its outbox was created.
    public var droppedSamples: Int64
    /// The status text of each source, keyed by source name: `running`, `no fix`, `stale: …`.
    public var sources: [String: String]
    /// A problem of the outbox or the delivery that a person has to solve, as one sentence; nil if there is none.
    public var problem: String?

    /// The beginning of ``problem`` if a collector refuses batches. The reason follows.
    public static let refusalProblem = "a collector refuses its batches: "

    /// The beginning of ``problem`` if the outbox cannot be used. The reason follows.
    public static let outboxProblem = "outbox problem: "

    /// What the device knows of its clock, or nil if it does not compare it.
    public var clock: ClockReport?
    /// The ends of the validity of the agent's certificates, by their use: `ca` or `client`.
    public var certificates: [String: Timestamp]
    /// The calibration of the samples of accelerometer and gyroscope, or nil if they are as measured.
    public var calibration: InertialCalibration?

    /// Creates a presence message.
    public init(
        epoch: Epoch?, after: Epoch? = nil, session: Int64?, phase: Phase, at: Timestamp?, reason: String? = nil,
        seq: Int64? = nil, pending: [Epoch: SequenceSet] = [:], dropped: [ClosedRange<Int64>] = [],
        droppedSamples: Int64 = 0, sources: [String: String] = [:], problem: String? = nil, clock: ClockReport? = nil,
        certificates: [String: Timestamp] = [:], calibration: InertialCalibration? = nil
    ) {
        self.epoch = epoch
        self.after = after
        self.session = session
        self.phase = phase
        self.at = at
        self.reason = reason
        self.seq = seq
        self.pending = pending
        self.dropped = dropped
        self.droppedSamples = droppedSamples
        self.sources = sources
        self.problem = problem
        self.clock = clock
        self.certificates = certificates
        self.calibration = calibration
    }
}

/// The persistent state of a device's life-cycle machine. A collector restores the machine from it after a restart.
public struct LifecycleSnapshot: Hashable, Sendable {
    /// The transition to the current state, or nil before the first transition.
    public var last: LifecycleTransition?
    /// The current epoch. Presence messages of older epochs are ignored.
    public var epoch: Epoch?
    /// The latest session of that epoch that has sent a presence message.
    public var session: Int64?
    /// The last phase that this session reported, or nil if it is no longer valid.
    public var phase: Phase?
    /// The time of the newest evidence for the state, on the device's time line. Older messages do not change the state.
    public var evidenceTime: Timestamp?
    /// Whether a person has asked to forget the device, and it has sent nothing since.
    public var isForgotten: Bool

    /// Creates a snapshot. Without arguments, it is the snapshot of a device that was never seen.
    public init(
        last: LifecycleTransition? = nil, epoch: Epoch? = nil, session: Int64? = nil, phase: Phase? = nil,
        evidenceTime: Timestamp? = nil, isForgotten: Bool = false
    ) {
        self.last = last
        self.epoch = epoch
        self.session = session
        self.phase = phase
        self.evidenceTime = evidenceTime
        self.isForgotten = isForgotten
    }

    /// Returns whether the snapshots are equal, ignoring ``evidenceTime``.
    public func isEqualIgnoringEvidenceTime(_ other: LifecycleSnapshot) -> Bool {
        var other = other
        other.evidenceTime = evidenceTime
        return self == other
    }
}

extension LifecycleSnapshot {
    /// What stores keep in the column `phase` of a forgotten device, instead of its phase.
    package static let forgottenPhase = "forgotten"

    /// The value of the column `phase`: the phase, `forgotten`, or nil if no phase is known.
    package var storedPhase: String? {
        get { isForgotten ? Self.forgottenPhase : phase?.rawValue }
        set {
            isForgotten = newValue == Self.forgottenPhase
            phase = newValue.flatMap(Phase.init)
        }
    }
}
