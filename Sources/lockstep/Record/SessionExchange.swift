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
    /// The time after which the request for the first session of a group is sent again. It is carried out once.
    private static let repetition = Duration.seconds(2)

    private let exchange: BrokerExchange
    private let root: TopicRoot
    private(set) var sessions: [RecordingSession.Key: RecordingSession] = [:]
    private let interrupt: Interrupt

    /// Connects, and reads the sessions of a group, or of all groups.
    /// - Throws: ``CommandFailure`` or `ExchangeError` if the broker cannot be reached or denies access.
    init(_ connection: ConnectionOptions, group: GroupID?) throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let (link, broker) = try connection.link(settings, for: "record")
        interrupt = Interrupt(wakeup: link.wakeup)
        exchange = BrokerExchange(
            link, broker, awaitsRetained: true, filters: { [root.sessionFilter(group: group)] })
        exchange.requiredTopics = root.sessionFilter(group: nil) + "/+"
        self.root = root
        link.onMessage = { [unowned self] message in
            guard case .session(let key, nil)? = try? self.root.parse(message.topic) else { return }
            self.sessions[key] =
                message.payload.isEmpty ? nil : try? SessionJSON.decode(Data(message.payload), of: key)
        }
        guard try exchange.wait(until: .now + Self.patience, for: { try check(exchange.isReady) }) else {
            throw exchange.noAnswer
        }
    }

    /// Sends a request, and waits until the state of its session shows that the collector has stored it.
    /// - Throws: ``CommandFailure`` or `ExchangeError` if it does not.
    func send(
        _ request: SessionRequest, to key: RecordingSession.Key, until isDone: (RecordingSession?) -> Bool
    ) throws {
        let message = MQTTMessage(topic: root.topic(key, request.verb), payload: SessionJSON.encode(request))
        let deadline = ContinuousClock.now + Self.patience
        // A collector that connects for the first time receives nothing from before that, and has no sessions yet.
        let isFirst = !sessions.keys.contains { $0.group == key.group }
        let interval = isFirst ? Self.repetition : Self.patience
        while try !exchange.send(
            message, until: min(deadline, .now + interval), for: { try check(isDone(sessions[key])) })
        {
            guard .now >= deadline else { continue }
            if let error = exchange.connectionError { throw error }
            throw CommandFailure(
                "the broker has the request, but no collector has carried it out: check with 'lockstep doctor' that the "
                    + "collector of the group '\(key.group)' runs, and with 'lockstep query rejected' that it has not "
                    + "refused it")
        }
    }

    /// Waits for a condition, however long that takes.
    /// - Parameter show: is called from time to time.
    /// - Throws: `ExchangeError`, or an exit code after Ctrl-C.
    func wait(until isDone: () -> Bool, show: () -> Void) throws {
        _ = try exchange.wait(until: nil) {
            if try check(isDone()) { return true }
            show()
            return false
        }
    }

    func close() { exchange.close() }

    /// Returns a condition; throws after Ctrl-C if it is not true.
    private func check(_ isDone: Bool) throws -> Bool {
        if !isDone, let signal = interrupt.signal { throw SessionInterruption(signal: signal) }
        return isDone
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
