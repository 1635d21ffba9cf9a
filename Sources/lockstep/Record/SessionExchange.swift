import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepSystem
import LockstepWire

/// Follows the sessions of a broker, and sends requests about them to their collector.
final class SessionExchange {
    /// The time that a broker, and then a collector, has to answer.
    private static let patience = Duration.seconds(10)

    private let session: BrokerSession
    private let broker: BrokerAddress
    let root: TopicRoot
    private var isReady = false
    private var lastError: MQTTError?
    private var unanswered: MQTTMessage?
    private(set) var sessions: [RecordingSession.Key: RecordingSession] = [:]
    private let interrupt: Interrupt

    /// Connects, and reads the sessions of a group, or of all groups.
    /// - Throws: ``CommandFailure`` if the broker cannot be reached or denies access.
    init(_ connection: ConnectionOptions, group: GroupID?) throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let wakeup = Wakeup()
        let (link, broker) = try connection.link(settings, for: "record", wakeup: wakeup)
        interrupt = Interrupt(wakeup: wakeup)
        let filter = root.sessionFilter(group: group)
        session = BrokerSession(link, awaitsRetained: true, filters: { [filter] })
        (self.root, self.broker) = (root, broker)
        link.onMessage = { [unowned self] message in
            guard case .session(let key, nil)? = try? self.root.parse(message.topic) else { return }
            self.sessions[key] =
                message.payload.isEmpty ? nil : try? SessionJSON.decode(Data(message.payload), of: key)
        }
        guard try wait(for: Self.patience, until: { self.isReady }) else {
            throw CommandFailure("\(broker): \(lastError.map { "\($0)" } ?? "no answer")")
        }
    }

    /// Sends a request, and waits until the state of its session shows that the collector has stored it.
    /// - Throws: ``CommandFailure`` if it does not.
    func send(
        _ request: SessionRequest, to key: RecordingSession.Key, until isDone: (RecordingSession?) -> Bool
    ) throws {
        let message = MQTTMessage(
            topic: root.topic(key, request.verb), payload: SessionJSON.encode(request), qos: .atLeastOnce)
        try session.link.publish(message)
        unanswered = message
        defer { unanswered = nil }
        guard try wait(for: Self.patience, until: { isDone(self.sessions[key]) }) else {
            throw CommandFailure(
                "the broker has the request, but no collector has carried it out: check with 'lockstep doctor' that the "
                    + "collector of the group '\(key.group)' runs, and with 'lockstep query rejected' that it has not "
                    + "refused it")
        }
    }

    /// Waits for a condition.
    /// - Parameters:
    ///   - duration: the maximum time, or nil.
    ///   - show: is called from time to time.
    /// - Returns: whether the condition is true.
    /// - Throws: ``CommandFailure``, or an exit code after Ctrl-C.
    func wait(for duration: Duration?, until isDone: () -> Bool, show: () -> Void = {}) throws -> Bool {
        let deadline = duration.map { ContinuousClock.now + $0 }
        while !isDone() {
            if let deadline, ContinuousClock.now >= deadline { return false }
            if let signal = interrupt.signal { throw SessionInterruption(signal: signal) }
            show()
            let next = ContinuousClock.now + .milliseconds(500)
            for event in session.next(until: deadline.map { min($0, next) } ?? next) + session.send() {
                try handle(event)
            }
        }
        return true
    }

    func close() { session.close() }

    private func handle(_ event: BrokerSession.Event) throws {
        switch event {
        case .connected: lastError = nil
        case .ready:
            isReady = true
            // The connection may have ended before the broker had the request. Requests may arrive twice.
            if let unanswered { try session.link.publish(unanswered) }
        case .denied(_, let error): throw CommandFailure("\(broker): \(error)")
        case .published(_, let refusal):
            guard let refusal else { return }
            throw CommandFailure(
                "\(broker): \(refusal): use the credentials of an operator, and allow it to write "
                    + "'\(root)/+/$session/+/+' (see broker-config/production.acl)")
        case .interrupted(let error, _):
            lastError = error
            if error.isPermanent { throw CommandFailure("\(broker): \(error)") }
        }
    }
}

/// The end of a wait by a signal. The session goes on.
struct SessionInterruption: Error {
    let signal: Int32
}

extension Collection<RecordingSession> {
    /// Returns the session with a name or id, or the only one that is running if there is no name.
    /// - Throws: ``CommandFailure`` if there is none or more than one.
    func only(_ name: String?, running: Bool = false) throws -> RecordingSession {
        let active = filter(\.canStop)
        var found = name.map { name in filter { $0.key.id.rawValue == name } } ?? active
        if let name, found.isEmpty { found = filter { $0.name == name } }
        if name != nil, running, found.count > 1, found.contains(where: \.isRunning) {
            found = found.filter(\.isRunning)
        }
        guard let session = found.first else {
            throw CommandFailure(
                name.map { "there is no session '\($0)': list them with 'lockstep record list'" }
                    ?? "no session is running: start one with 'lockstep record start NAME'")
        }
        guard found.count == 1 else {
            let isInGroups = Set(found.map(\.key.group)).count > 1
            let ids = found.map { isInGroups ? "\($0.key.group)/\($0.key.id)" : "\($0.key.id)" }
            throw CommandFailure(
                "several sessions match: use \(isInGroups ? "--group and " : "")one of the ids "
                    + ids.sorted().joined(separator: ", "))
        }
        return session
    }
}
