import FoundationEssentials
import LockstepMQTT
public import LockstepModel
import LockstepWire
import Synchronization

/// The reply of an agent.
public struct CommandReply: Sendable, Hashable {
    /// The decoded reply.
    public let reply: AgentReply
    /// The reply as the agent sent it: a JSON object.
    public let payload: [UInt8]
}

/// Sends requests to agents and collectors over the connection of a ``LiveFeed``, and waits for their answers.
public final class RequestClient: Sendable {
    private struct State {
        var table = RequestTable()
        var waiting: [Int: CheckedContinuation<RequestTable.Answer, any Error>] = [:]
        /// Whether the feed has ended, so that nothing would end a request.
        var isClosed = false
        /// The reason why requests cannot be sent; nil if they can.
        var problem: String? = "the connection is not established yet"
    }

    private let state = Mutex(State())
    private let root: TopicRoot
    private let limit: Int
    private let wakeup: Wakeup

    init(root: TopicRoot, limit: Int, wakeup: Wakeup) {
        self.root = root
        self.limit = limit
        self.wakeup = wakeup
    }

    /// Sends a request to an agent and waits for its reply. The reply of an agent that refuses the request is no error.
    /// - Parameters:
    ///   - request: the request. If it has no id, it gets a random one.
    ///   - timeout: the time to wait, in µs.
    /// - Throws: ``CommandError``.
    public func send(
        _ request: AgentRequest, to device: DeviceAddress, timeout: Int64 = 10_000_000
    ) async throws(CommandError) -> CommandReply {
        let pending = PendingRequest(request, to: device)
        guard case .reply(let reply) = try await perform(.reply(pending), [pending.message(root: root)], timeout) else {
            throw .noReply(device: "\(device)")
        }
        return reply
    }

    /// Acknowledges an event for a person, and waits until the collector that has stored the event has stored that. All other
    /// collectors ignore it.
    ///
    /// An event that was acknowledged before keeps the time of its first acknowledgement.
    /// - Parameters:
    ///   - collectors: the known collectors. An event of no device goes to each of them.
    ///   - timeout: the time to wait, in µs.
    /// - Throws: ``CommandError``.
    public func acknowledge(
        _ key: RuleEvent.Key, collectors: some Sequence<CollectorAddress>, timeout: Int64 = 10_000_000
    ) async throws(CommandError) -> StoredAcknowledgement {
        let topics =
            key.device.map { [root.topic($0, .eventAcknowledge)] }
            ?? collectors.map { root.topic(group: $0.group, collector: $0.collector, .eventAcknowledge) }
        let payload = EventAcknowledgementJSON.encode(key)
        let messages = topics.map { MQTTMessage(topic: $0, payload: payload, qos: .atLeastOnce) }
        // Without a topic, nobody could confirm it.
        guard !messages.isEmpty,
            case .confirmation(let stored) = try await perform(.confirmation(key), messages, timeout)
        else { throw .notConfirmed }
        return stored
    }

    /// Sends a message to a topic, and waits until the broker has it.
    /// - Parameters:
    ///   - timeout: the time to wait, in µs.
    ///   - waitsForConnection: whether the message may wait for a connection; otherwise there must be one.
    /// - Throws: ``CommandError``.
    public func publish(
        _ payload: [UInt8], to topic: String, timeout: Int64 = 10_000_000, waitsForConnection: Bool = false
    ) async throws(CommandError) {
        _ = try await perform(
            .publication, [MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce)], timeout,
            waitsForConnection: waitsForConnection)
    }

    private func perform(
        _ expected: RequestTable.Expectation, _ messages: [MQTTMessage], _ timeout: Int64,
        waitsForConnection: Bool = false
    ) async throws(CommandError) -> RequestTable.Answer {
        let id = state.withLock { $0.table.reserveID() }
        let deadline = Moment.now().boot + timeout
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    // The request is added together with its task, so that no answer is missed.
                    let error: CommandError? = state.withLock { state in
                        if state.isClosed { return .cancelled }
                        if let problem = state.problem, !waitsForConnection { return .notConnected(problem) }
                        guard state.table.count < limit else { return .tooManyRequests(limit: limit) }
                        state.table.add(expected, messages, deadline: deadline, id: id)
                        state.waiting[id] = continuation
                        return nil
                    }
                    if let error { return continuation.resume(throwing: error) }
                    wakeup.signal()
                    // The handler below may have run before the request was added.
                    if Task.isCancelled { cancel(id) }
                }
            } onCancel: {
                cancel(id)
            }
        } catch {
            throw error as? CommandError ?? .cancelled
        }
    }

    private func cancel(_ id: Int) {
        finish { table in
            table.remove(id)
            return [(id, .failure(.cancelled))]
        }
    }

    /// The time at which the next request fails, in µs of the boot clock.
    var nextDeadline: Int64? { state.withLock { $0.table.nextDeadline } }

    /// Sends pending requests again after a new connection. Agents and collectors perform each of them once.
    func didConnect() {
        state.withLock { state in
            state.problem = nil
            state.table.didConnect()
        }
    }

    /// Refuses new requests until the connection is established again. Those that wait are sent again then.
    func didDisconnect(_ problem: String) { state.withLock { $0.problem = problem } }

    /// Ends the requests whose time is over, and sends new ones.
    /// - Parameter send: queues a message and returns its id, or nil if there is no connection.
    func advance(to boot: Int64, send: (MQTTMessage) throws(MQTTError) -> Int32?) {
        let problem = state.withLock { $0.problem }
        finish { $0.expire(at: boot, problem: problem) + $0.sendAll(send) }
    }

    /// Handles the broker's acknowledgement of a message.
    func didPublish(_ messageID: Int32, refusal: MQTTError?) { finish { $0.didPublish(messageID, refusal: refusal) } }

    /// Handles a message on a device's topic for replies.
    func handle(_ payload: Data, from device: DeviceAddress) { finish { $0.handle(payload, from: device) } }

    /// Handles the confirmation of a collector.
    func handle(_ confirmation: StoredAcknowledgement) { finish { $0.handle(confirmation) } }

    /// Ends all requests.
    func close() {
        state.withLock { $0.isClosed = true }
        finish { table in table.removeAll().map { ($0, .failure(.cancelled)) } }
    }

    /// Resumes the tasks whose requests have ended.
    private func finish(_ body: (inout RequestTable) -> [(Int, RequestTable.Outcome)]) {
        let results = state.withLock { state in
            body(&state.table).map { (state.waiting.removeValue(forKey: $0.0), $0.1) }
        }
        for (continuation, outcome) in results { continuation?.resume(with: outcome.mapError { $0 as any Error }) }
    }
}
