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
