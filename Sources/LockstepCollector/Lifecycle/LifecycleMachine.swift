public import LockstepModel

/// Decides the life-cycle state of one device: events and time in, transitions out.
///
/// It reads no clock and does no I/O: the same events at the same times give the same transitions.
public struct LifecycleMachine: Sendable {
    public struct Timing: Sendable, Hashable {
        /// µs without a word after which a device is in background.
        public var silence: Int64
        /// µs after which a resumed device without live samples counts as active.
        public var settle: Int64

        /// The default silence is two and a half heartbeats of an agent.
        public init(silence: Int64 = 75_000_000, settle: Int64 = 5_000_000) {
            self.silence = silence
            self.settle = settle
        }
    }

    public enum Event: Sendable, Hashable {
        case presence(Presence)
        /// A batch sent live; `newest` is the time of its last sample. Backlog is no event: it never changes a state.
        case liveSamples(newest: Timestamp)
        /// Time passes.
        case tick
    }

    public private(set) var snapshot: LifecycleSnapshot
    private let timing: Timing
    /// Boot time of the collector at the last word of the device.
    private var heardAt: Int64
    /// Boot time of the collector when the device resumed.
    private var resumedAt: Int64

    public init(_ snapshot: LifecycleSnapshot = LifecycleSnapshot(), timing: Timing = Timing(), at moment: Moment) {
        self.snapshot = snapshot
        self.timing = timing
        heardAt = moment.boot
        resumedAt = moment.boot
    }

    public var state: LifecycleState? { snapshot.last?.to }

    /// The boot time at which a tick is due, if nothing comes before it.
    public var nextTick: Int64? {
        switch state {
        case nil, .background, .terminated: nil
        case .active, .inactive: heardAt + timing.silence
        case .resumed: min(heardAt + timing.silence, resumedAt + timing.settle)
        }
    }

    public mutating func handle(_ event: Event, at moment: Moment) -> LifecycleTransition? {
        switch event {
        case .presence(let presence): handle(presence, at: moment)
        case .liveSamples(let newest): handleLiveSamples(newest: newest, at: moment)
        case .tick: handleTick(at: moment)
        }
    }

    /// Starts the silence anew: while the collector itself is cut off, it can't tell who is silent.
    public mutating func startListening(at moment: Moment) {
        heardAt = moment.boot
        resumedAt = moment.boot
    }

    private mutating func handle(_ presence: Presence, at moment: Moment) -> LifecycleTransition? {
        guard !isOutdated(presence) else { return nil }
        if isOfAnotherEpoch(presence) { snapshot.session = nil }
        if let epoch = presence.epoch { snapshot.epoch = epoch }
        if let session = presence.session { snapshot.session = session }
        if presence.phase == .lost {
            // Whoever has ended cleanly, or is in background already, has nothing to lose.
            guard snapshot.phase != .terminated else { return nil }
            snapshot.phase = .lost
            return state == .background || state == .terminated
                ? nil : move(to: .background, since: moment.wall, reason: "connection-lost")
        }
        heardAt = moment.boot
        snapshot.phase = presence.phase
        if let at = presence.at { snapshot.evidenceTime = clamped(at, to: moment) }
        guard let next = Self.state(after: state, saying: presence.phase), next != state else { return nil }
        if next == .resumed { resumedAt = moment.boot }
        return move(
            to: next, since: clamped(presence.at, to: moment), reason: presence.reason ?? presence.phase.rawValue)
    }

    private mutating func handleLiveSamples(newest: Timestamp, at moment: Moment) -> LifecycleTransition? {
        if let evidenceTime = snapshot.evidenceTime, newest <= evidenceTime { return nil }
        heardAt = moment.boot
        // A sample stamped in the future must not make every later word look old.
        snapshot.evidenceTime = clamped(newest, to: moment)
        switch state {
        case .active, .inactive: return nil
        case nil, .resumed: return move(to: .active, since: clamped(newest, to: moment), reason: "live-sample")
        case .background, .terminated:
            // A device that says it is in background sends samples at background rates: they are no return.
            guard snapshot.phase != .background else { return nil }
            resumedAt = moment.boot
            return move(to: .resumed, since: clamped(newest, to: moment), reason: "live-sample")
        }
    }

    private mutating func handleTick(at moment: Moment) -> LifecycleTransition? {
        guard let nextTick, moment.boot >= nextTick else { return nil }
        if moment.boot >= heardAt + timing.silence {
            return move(to: .background, since: moment.wall, reason: "silent")
        }
        return move(to: .active, since: moment.wall, reason: "settled")
    }

    /// Whether a presence is of an older session, or older than what the state rests on.
    private func isOutdated(_ presence: Presence) -> Bool {
        if isOfAnotherEpoch(presence) {
            guard presence.phase != .lost else { return true }
            if let after = presence.after, after == snapshot.epoch { return false }
            // Sessions are numbered by a clock that was set in between: only the time tells which epoch is the later.
            guard let at = presence.at, let evidenceTime = snapshot.evidenceTime else { return false }
            return at <= evidenceTime
        }
        if let session = presence.session, let known = snapshot.session {
            if session != known { return session < known }
        }
        // The time of a will is that of its connection, not of its loss.
        guard presence.phase != .lost, let at = presence.at, let evidenceTime = snapshot.evidenceTime else {
            return false
        }
        // The same word again, as when a broker hands out what it retained, is no sign of life either; another word may
        // have been said within the same microsecond.
        return at < evidenceTime
            || (at == evidenceTime && (presence.phase == snapshot.phase || snapshot.phase == .lost))
    }

    private func isOfAnotherEpoch(_ presence: Presence) -> Bool {
        guard let epoch = presence.epoch, let known = snapshot.epoch else { return false }
        return epoch != known
    }

    private static func state(after state: LifecycleState?, saying phase: Phase) -> LifecycleState? {
        switch phase {
        case .foreground:
            switch state {
            case nil, .inactive: .active
            case .background, .terminated: .resumed
            case .active, .resumed: state
            }
        case .inactive: .inactive
        case .background, .lost: .background
        case .terminated: .terminated
        }
    }

    private mutating func move(to next: LifecycleState, since: Timestamp, reason: String) -> LifecycleTransition {
        let transition = LifecycleTransition(
            from: state, to: next, since: max(since, snapshot.last?.since ?? since), reason: reason,
            seq: (snapshot.last?.seq ?? 0) + 1)
        snapshot.last = transition
        return transition
    }

    /// The device's own time where it can be: not in the collector's future.
    private func clamped(_ time: Timestamp?, to moment: Moment) -> Timestamp { min(time ?? moment.wall, moment.wall) }
}
