public import LockstepModel

/// The state machine of one device's life cycle: it takes events and the time, and returns transitions.
///
/// It reads no clock and does no I/O. The same events at the same times give the same transitions.
public struct LifecycleMachine: Sendable {
    /// The timeouts of a life cycle.
    public struct Timing: Sendable, Hashable {
        /// The time without messages after which a device counts as in background, in µs.
        public var silence: Int64
        /// The time after which a resumed device becomes active without live samples, in µs.
        public var settle: Int64

        /// Creates the timeouts, in µs. The default silence is two and a half heartbeat intervals of an agent.
        public init(silence: Int64 = 75_000_000, settle: Int64 = 5_000_000) {
            self.silence = silence
            self.settle = settle
        }
    }

    /// An input of the state machine.
    public enum Event: Sendable, Hashable {
        /// A presence message of the device, or its last will.
        case presence(Presence)
        /// A live batch; `newest` is the time of its last sample. Backlog is not an event, because it never changes a
        /// state.
        case liveSamples(newest: Timestamp)
        /// A late batch. It changes no state, but a forgotten device is known again.
        case backlog
        /// A person has asked to forget the device.
        case forget
        /// The deadline ``LifecycleMachine/nextTick`` has passed.
        case tick
    }

    /// The part of the state that the store keeps.
    public private(set) var snapshot: LifecycleSnapshot
    private let timing: Timing
    /// The time of the device's last message, in µs of the collector's boot clock.
    private var lastMessageAt: Int64
    /// The time at which the device resumed, in µs of the collector's boot clock.
    private var resumedAt: Int64

    /// Creates a life cycle.
    /// - Parameters:
    ///   - snapshot: the stored state, or an empty one for a new device.
    ///   - moment: the current time, at which the timeouts start.
    public init(_ snapshot: LifecycleSnapshot = LifecycleSnapshot(), timing: Timing = Timing(), at moment: Moment) {
        self.snapshot = snapshot
        self.timing = timing
        lastMessageAt = moment.boot
        resumedAt = moment.boot
    }

    /// The current state, or nil before the first transition.
    public var state: LifecycleState? { snapshot.last?.to }

    /// The deadline of the next tick in µs of the boot clock, or nil if time alone does not change the state.
    public var nextTick: Int64? {
        switch state {
        case nil, .background, .terminated: nil
        case .active, .inactive: lastMessageAt + timing.silence
        case .resumed: min(lastMessageAt + timing.silence, resumedAt + timing.settle)
        }
    }

    /// Processes an event.
    /// - Parameter moment: the current time.
    /// - Returns: the resulting transition, or nil if the state does not change.
    public mutating func handle(_ event: Event, at moment: Moment) -> LifecycleTransition? {
        switch event {
        case .presence(let presence): handle(presence, at: moment)
        case .liveSamples(let newest): handleLiveSamples(newest: newest, at: moment)
        case .backlog: setForgotten(false)
        case .forget: setForgotten(true)
        case .tick: handleTick(at: moment)
        }
    }

    /// Returns whether the device is connected, as far as is known. Such a device cannot be forgotten.
    ///
    /// A device in background is connected if it has said so itself and repeats it.
    public func isOnline(at moment: Moment) -> Bool {
        switch state {
        case .active, .inactive, .resumed: true
        case .background: snapshot.phase == .background && moment.boot < lastMessageAt + timing.silence
        case nil, .terminated: false
        }
    }

    /// Returns whether a presence shows that a forgotten device is back.
    ///
    /// The end of an earlier connection does not, nor does an earlier presence, which a gateway repeats with each of its
    /// connections.
    func showsReturn(_ presence: Presence) -> Bool {
        guard presence.phase != .lost, presence.phase != .terminated else { return false }
        guard !isOfAnotherEpoch(presence), let at = presence.at, let evidenceTime = snapshot.evidenceTime else {
            return true
        }
        return at > evidenceTime
    }

    private mutating func setForgotten(_ isForgotten: Bool) -> LifecycleTransition? {
        snapshot.isForgotten = isForgotten
        return nil
    }

    /// Records live samples if they change nothing but the time of the evidence. This is the usual case.
    /// - Returns: whether they were recorded. If not, pass them as an event.
    mutating func recordEvidence(_ newest: Timestamp, at moment: Moment) -> Bool {
        guard let evidenceTime = snapshot.evidenceTime, newest > evidenceTime, state == .active || state == .inactive
        else { return false }
        lastMessageAt = moment.boot
        snapshot.evidenceTime = clamped(newest, to: moment)
        return true
    }

    /// Restarts the timeouts. Call it when the collector has connected: without a connection, it cannot detect silent
    /// devices.
    /// - Parameter moment: the current time.
    public mutating func restartSilence(at moment: Moment) {
        lastMessageAt = moment.boot
        resumedAt = moment.boot
    }

    private mutating func handle(_ presence: Presence, at moment: Moment) -> LifecycleTransition? {
        guard !isOutdated(presence, at: moment) else { return nil }
        // Reading the state below instead crashes the optimiser of Swift 6.3 ("outside of lifetime use").
        let current = state
        if snapshot.isForgotten, !showsReturn(presence) { return nil }
        snapshot.isForgotten = false
        if isOfAnotherEpoch(presence) { snapshot.session = nil }
        if let epoch = presence.epoch { snapshot.epoch = epoch }
        if let session = presence.session { snapshot.session = session }
        if presence.phase == .lost {
            // A device that has ended cleanly or is already in background does not change its state.
            guard snapshot.phase != .terminated else { return nil }
            snapshot.phase = .lost
            return current == .background || current == .terminated
                ? nil : move(to: .background, since: moment.wall, at: moment, reason: "connection-lost")
        }
        lastMessageAt = moment.boot
        snapshot.phase = presence.phase
        if let at = presence.at { snapshot.evidenceTime = clamped(at, to: moment) }
        guard let next = Self.state(after: current, phase: presence.phase), next != current else { return nil }
        if next == .resumed { resumedAt = moment.boot }
        return move(
            to: next, since: clamped(presence.at, to: moment), at: moment,
            reason: presence.reason ?? presence.phase.rawValue)
    }

    private mutating func handleLiveSamples(newest: Timestamp, at moment: Moment) -> LifecycleTransition? {
        snapshot.isForgotten = false
        if let evidenceTime = snapshot.evidenceTime, newest <= evidenceTime, evidenceTime <= moment.wall { return nil }
        lastMessageAt = moment.boot
        // A timestamp in the future must not make all later messages look outdated.
        snapshot.evidenceTime = clamped(newest, to: moment)
        switch state {
        case .active, .inactive: return nil
        case nil, .resumed:
            return move(to: .active, since: clamped(newest, to: moment), at: moment, reason: "live-sample")
        case .background, .terminated:
            // A device that declared itself in background still sends samples at background rates. They do not
            // resume it.
            guard snapshot.phase != .background else { return nil }
            resumedAt = moment.boot
            return move(to: .resumed, since: clamped(newest, to: moment), at: moment, reason: "live-sample")
        }
    }

    private mutating func handleTick(at moment: Moment) -> LifecycleTransition? {
        guard let nextTick, moment.boot >= nextTick else { return nil }
        if moment.boot >= lastMessageAt + timing.silence {
            return move(to: .background, since: moment.wall, at: moment, reason: "silent")
        }
        return move(to: .active, since: moment.wall, at: moment, reason: "settled")
    }

    /// Returns whether a presence message belongs to an older session, or is older than the evidence for the state.
    private func isOutdated(_ presence: Presence, at moment: Moment) -> Bool {
        if isOfAnotherEpoch(presence) {
            guard presence.phase != .lost else { return true }
            if let after = presence.after, after == snapshot.epoch { return false }
            // The clock was set between the epochs, so session numbers, which are times, do not order them.
            guard let at = presence.at, let evidenceTime = snapshot.evidenceTime else { return false }
            // Evidence from the future is of a time when both clocks were ahead. Nothing is newer than it.
            return at <= evidenceTime && evidenceTime <= moment.wall
        }
        if let session = presence.session, let known = snapshot.session {
            if session != known { return session < known }
        }
        // A last will has the time at which its connection started, not the time at which it was lost.
        guard presence.phase != .lost, let at = presence.at, let evidenceTime = snapshot.evidenceTime else {
            return false
        }
        // A repeated message, such as a retained one, does not show that the device is alive. A different phase is a
        // new message, even with the same timestamp: an agent may publish both within one microsecond.
        return at < evidenceTime
            || (at == evidenceTime && (presence.phase == snapshot.phase || snapshot.phase == .lost))
    }

    private func isOfAnotherEpoch(_ presence: Presence) -> Bool {
        guard let epoch = presence.epoch, let known = snapshot.epoch else { return false }
        return epoch != known
    }

    private static func state(after state: LifecycleState?, phase: Phase) -> LifecycleState? {
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

    private mutating func move(
        to next: LifecycleState, since: Timestamp, at moment: Moment, reason: String
    ) -> LifecycleTransition {
        // A device's clock may be behind. A last transition in the future shows that the collector's clock was ahead and
        // has been set back: its time is wrong, and must not be repeated. The numbers keep the order.
        let last = snapshot.last.map(\.since) ?? since
        let transition = LifecycleTransition(
            from: state, to: next, since: last > moment.wall ? since : max(since, last), reason: reason,
            seq: (snapshot.last?.seq ?? 0) + 1)
        snapshot.last = transition
        return transition
    }

    /// Returns the device's own time, limited to the collector's current time. Without a time, returns the current
    /// time.
    private func clamped(_ time: Timestamp?, to moment: Moment) -> Timestamp { min(time ?? moment.wall, moment.wall) }
}
