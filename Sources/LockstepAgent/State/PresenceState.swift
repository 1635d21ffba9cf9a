import LockstepModel
import LockstepSensors

/// The content of the agent's presence and the time of its next publication.
struct PresenceState {
    /// The minimum interval between presence messages that publish changes, in µs. Several changes share one message.
    static let changeInterval: Int64 = 1_000_000

    private(set) var phase = Phase.foreground
    /// The status of each source, by source name.
    private(set) var sources: [String: String] = [:]
    /// The problem that a person has to solve, or nil.
    var problem: String? { didSet { if problem != oldValue { isChanged = true } } }
    /// The ends of the validity of the agent's certificates, by their use.
    var certificates: [String: Timestamp] = [:] { didSet { if certificates != oldValue { isChanged = true } } }
    /// The calibration that is applied to the samples of accelerometer and gyroscope.
    var calibration: InertialCalibration? { didSet { if calibration != oldValue { isChanged = true } } }
    /// Whether the presence has changed since it was last published.
    var isChanged = false
    /// The number of samples dropped before they reached the outbox.
    var unsavedDropped: Int64 = 0
    /// What the device knows of its clock.
    var clock = ClockState()

    private let heartbeat: Int64
    private var reason = "start"
    /// The time of the last publication, in µs of the boot clock.
    private var publishedAt: Int64 = 0
    /// The message ids without a PUBACK.
    private var unacknowledged: Set<Int32> = []

    /// - Parameter heartbeat: the interval between presence messages while nothing changes, in µs.
    init(heartbeat: Int64) { self.heartbeat = heartbeat }

    /// Whether the broker has acknowledged every published presence.
    var isAcknowledged: Bool { unacknowledged.isEmpty }

    /// Returns the presence as far as the agent's state determines it: without session, and without the outbox.
    func report(at time: Timestamp) -> Presence {
        Presence(
            epoch: nil, session: nil, phase: phase, at: time, reason: reason, droppedSamples: unsavedDropped,
            sources: sources, problem: problem, clock: clock.report, certificates: certificates,
            calibration: calibration)
    }

    mutating func setPhase(_ phase: Phase, reason: String) {
        self.phase = phase
        self.reason = reason
    }

    /// Handles a new connection: PUBACKs of the previous one no longer arrive.
    /// - Returns: the presence to publish.
    mutating func didConnect(at time: Timestamp) -> Presence {
        defer { if reason == "start" { reason = "reconnect" } }
        unacknowledged = []
        return report(at: time)
    }

    func isDue(at boot: Int64) -> Bool { boot - publishedAt >= (isChanged ? Self.changeInterval : heartbeat) }

    mutating func didPublish(id: Int32, at boot: Int64) {
        unacknowledged.insert(id)
        publishedAt = boot
        isChanged = false
        clock.didPublish()
    }

    mutating func didAcknowledge(id: Int32) { unacknowledged.remove(id) }

    /// - Returns: whether the kind of status has changed. A change of the details alone is not logged.
    mutating func setStatus(_ status: SourceStatus, of source: String) -> Bool {
        let text = status.description
        guard sources[source] != text else { return false }
        let isNewKind = sources[source].map { $0.prefix(while: \.isLetter) != text.prefix(while: \.isLetter) } ?? true
        sources[source] = text
        isChanged = true
        return isNewKind
    }

    /// Removes the status of a source that is not active any more.
    mutating func removeStatus(of source: String) {
        if sources.removeValue(forKey: source) != nil { isChanged = true }
    }
}

/// Reports each problem once until it is resolved, and limits how often a failed operation is retried.
struct ProblemLog {
    private var reported: Set<String> = []
    private var retryTimes: [String: Int64] = [:]

    /// Returns whether the problem has not been reported yet, and marks it as reported.
    mutating func isNew(_ problem: String) -> Bool { reported.insert(problem).inserted }

    /// Returns whether the operation may be retried: at most once a second.
    /// - Parameter boot: the current time in µs of the boot clock.
    mutating func isRetryDue(_ problem: String, at boot: Int64) -> Bool {
        guard boot >= retryTimes[problem] ?? .min else { return false }
        retryTimes[problem] = boot + 1_000_000
        return true
    }

    /// Marks the problem, and every problem whose name starts with its name, as resolved.
    mutating func resolve(_ problem: String) { reported = reported.filter { !$0.hasPrefix(problem) } }
}

/// What an agent publishes about its clock.
struct ClockState {
    /// The time after the start of a segment during which each new estimate is published at once, in µs. Later ones wait
    /// for the next heartbeat.
    private static let settling: Int64 = 15_000_000

    private var discipline: KernelDiscipline?
    /// The estimates that were not published yet.
    private var pending: [ClockPoint] = []
    /// The newest estimate for each collector.
    private var newest: [ClockPoint] = []

    /// The report for the presence, or nil if nothing is known.
    var report: ClockReport? {
        guard discipline != nil || !newest.isEmpty else { return nil }
        let isSynchronised = discipline?.isSynchronised
        return ClockReport(
            isSynchronised: isSynchronised, maxError: isSynchronised == true ? discipline?.maxError : nil,
            points: pending.isEmpty ? newest : pending)
    }

    /// Records new estimates.
    /// - Returns: whether to publish them without waiting for the next heartbeat.
    mutating func update(
        _ points: [ClockPoint], newest: [ClockPoint], discipline: KernelDiscipline?
    ) -> Bool {
        self.newest = newest
        self.discipline = discipline
        pending += points
        if pending.count > ClockReport.maxPoints { pending.removeFirst(pending.count - ClockReport.maxPoints) }
        return points.contains { $0.time - $0.segment < Self.settling }
    }

    mutating func didPublish() { pending = [] }
}
