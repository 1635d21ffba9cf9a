/// What a life-cycle state rests on: enough to go on after a restart of the collector.
public struct LifecycleSnapshot: Hashable, Sendable {
    /// The transition that led to the present state.
    public var last: LifecycleTransition?
    /// The epoch whose sessions count.
    public var epoch: Epoch?
    /// The highest session of that epoch that spoke.
    public var session: Int64?
    /// What that session last said of itself, while it holds.
    public var phase: Phase?
    /// The newest evidence, on the device's time line: what is older changes nothing.
    public var evidenceTime: Timestamp?

    public init(
        last: LifecycleTransition? = nil, epoch: Epoch? = nil, session: Int64? = nil, phase: Phase? = nil,
        evidenceTime: Timestamp? = nil
    ) {
        self.last = last
        self.epoch = epoch
        self.session = session
        self.phase = phase
        self.evidenceTime = evidenceTime
    }

    /// Whether it is the same as `other` but perhaps for ``evidenceTime``.
    public func differsOnlyInEvidence(from other: LifecycleSnapshot) -> Bool {
        var other = other
        other.evidenceTime = evidenceTime
        return self == other
    }
}
