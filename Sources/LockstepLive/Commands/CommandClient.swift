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

/// Sends requests to agents over the connection of a ``LiveFeed``, and waits for their replies.
public final class CommandClient: Sendable {
    private struct State {
        var table = RequestTable()
        var waiting: [Int: CheckedContinuation<CommandReply, any Error>] = [:]
        /// The reason why requests cannot be sent; nil if they can.
        var problem: String? = "the connection is not established yet"
    }

    private let state = Mutex(State())
    private let limit: Int
    private let wakeup: Wakeup

    init(limit: Int, wakeup: Wakeup) {
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
        let id = state.withLock { $0.table.reserveID() }
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let pending = PendingRequest(request, to: device)
                    if let error = add(pending, deadline: Moment.now().boot + timeout, id, continuation) {
                        return continuation.resume(throwing: error)
                    }
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

    /// Adds a request together with its task, so that no result is missed.
    /// - Returns: the reason if the request is refused.
    private func add(
        _ request: PendingRequest, deadline: Int64, _ id: Int,
        _ continuation: CheckedContinuation<CommandReply, any Error>
    ) -> CommandError? {
        state.withLock { state in
            if let problem = state.problem { return .notConnected(problem) }
            guard state.table.count < limit else { return .tooManyRequests(limit: limit) }
            state.table.add(request, deadline: deadline, id: id)
            state.waiting[id] = continuation
            return nil
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

    /// Sends pending requests again after a new connection.
    func didConnect() {
        state.withLock { state in
            state.problem = nil
            state.table.didConnect()
        }
    }

    /// Refuses new requests until the connection is established again. Those that wait are sent again then.
    func didDisconnect(_ problem: String) { state.withLock { $0.problem = problem } }

    /// Sends new requests, and ends those whose time is over.
    func advance(to boot: Int64, root: TopicRoot, send: (MQTTMessage) throws(MQTTError) -> Int32?) {
        finish { $0.sendAll(root: root, send: send) + $0.expire(at: boot) }
    }

    /// Handles the broker's acknowledgement of a message.
    func didPublish(_ messageID: Int32, refusal: MQTTError?) { finish { $0.didPublish(messageID, refusal: refusal) } }

    /// Handles a message on a device's topic for replies.
    func handle(_ payload: Data, from device: DeviceAddress) { finish { $0.handle(payload, from: device) } }

    /// Ends all requests.
    func close() {
        didDisconnect("the server is stopping")
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
