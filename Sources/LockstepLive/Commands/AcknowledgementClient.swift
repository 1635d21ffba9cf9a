import LockstepMQTT
public import LockstepModel
import LockstepWire
import Synchronization

/// Asks collectors to store a person's acknowledgements of events, and waits for their confirmation; and sends them other
/// requests, for which it waits only until the broker has them.
///
/// The collector that has stored an event confirms; all others ignore the request.
public final class AcknowledgementClient: Sendable {
    private struct Entry {
        /// The event, or nil if the broker's acknowledgement is enough.
        let key: RuleEvent.Key?
        let payload: [UInt8]
        let topics: [String]
        /// The time at which the request fails, in µs of the boot clock.
        let deadline: Int64
        var isSent = false
        /// The ids of the messages that the broker has not refused.
        var messages: [Int32] = []
        let waiting: CheckedContinuation<StoredAcknowledgement?, any Error>
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var lastID = 0
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

    /// Acknowledges an event, and waits until a collector has stored that.
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
        // Nobody could confirm it.
        guard !topics.isEmpty else { throw .notConfirmed }
        guard let stored = try await send(key, EventAcknowledgementJSON.encode(key), to: topics, timeout) else {
            throw .notConfirmed
        }
        return stored
    }

    /// Sends a request to a topic, and waits until the broker has it.
    /// - Throws: ``CommandError``.
    public func publish(
        _ payload: [UInt8], to topic: String, timeout: Int64 = 10_000_000
    ) async throws(CommandError) {
        _ = try await send(nil, payload, to: [topic], timeout)
    }

    private func send(
        _ key: RuleEvent.Key?, _ payload: [UInt8], to topics: [String], _ timeout: Int64
    ) async throws(CommandError) -> StoredAcknowledgement? {
        let deadline = Moment.now().boot + timeout
        do {
            return try await withCheckedThrowingContinuation { continuation in
                let entry = Entry(
                    key: key, payload: payload, topics: topics, deadline: deadline, waiting: continuation)
                if let error = add(entry) { return continuation.resume(throwing: error) }
                wakeup.signal()
            }
        } catch {
            throw error as? CommandError ?? .cancelled
        }
    }

    /// Adds a request.
    /// - Returns: the reason if it is refused.
    private func add(_ entry: Entry) -> CommandError? {
        state.withLock { state in
            if let problem = state.problem { return .notConnected(problem) }
            guard state.entries.count < limit else { return .tooManyRequests(limit: limit) }
            state.lastID += 1
            state.entries[state.lastID] = entry
            return nil
        }
    }

    /// The time at which the next request fails, in µs of the boot clock.
    var nextDeadline: Int64? { state.withLock { $0.entries.values.map(\.deadline).min() } }

    /// Sends pending requests again after a new connection. Collectors store the first acknowledgement only.
    func didConnect() {
        state.withLock { state in
            state.problem = nil
            for id in state.entries.keys {
                state.entries[id]?.isSent = false
                state.entries[id]?.messages = []
            }
        }
    }

    /// Refuses new requests until the connection is established again. Those that wait are sent again then.
    func didDisconnect(_ problem: String) { state.withLock { $0.problem = problem } }

    /// Sends new requests, and ends those whose time is over.
    /// - Parameter send: queues a message and returns its id, or nil if there is no connection.
    func advance(to boot: Int64, send: (MQTTMessage) throws(MQTTError) -> Int32?) {
        finish { entries in
            var results: [(Int, CommandError)] = []
            for (id, entry) in entries {
                if entry.deadline <= boot {
                    results.append((id, .notConfirmed))
                    continue
                }
                guard !entry.isSent else { continue }
                do {
                    var messages: [Int32] = []
                    for topic in entry.topics {
                        guard
                            let message = try send(
                                MQTTMessage(
                                    topic: topic, payload: entry.payload, qos: .atLeastOnce))
                        else { return results }
                        messages.append(message)
                    }
                    entries[id]?.isSent = true
                    entries[id]?.messages = messages
                } catch {
                    results.append((id, .refused("\(error)")))
                }
            }
            return results
        }
    }

    /// Handles the broker's acknowledgement of a message.
    func didPublish(_ message: Int32, refusal: MQTTError?) {
        guard let refusal else { return didAccept(message) }
        finish { entries in
            entries.keys.compactMap { id in
                guard let index = entries[id]?.messages.firstIndex(of: message) else { return nil }
                entries[id]?.messages.remove(at: index)
                // Another collector may still confirm it.
                return entries[id]?.messages.isEmpty == true ? (id, .refused(refusal.description)) : nil
            }
        }
    }

    /// Ends a request that needs no confirmation.
    private func didAccept(_ message: Int32) {
        let waiting = state.withLock { state in
            let ids = state.entries.filter { $0.value.key == nil && $0.value.messages.contains(message) }.map(\.key)
            return ids.compactMap { state.entries.removeValue(forKey: $0)?.waiting }
        }
        for continuation in waiting { continuation.resume(returning: nil) }
    }

    func handle(_ confirmation: StoredAcknowledgement) {
        let waiting = state.withLock { state in
            let ids = state.entries.filter { $0.value.key == confirmation.key }.map(\.key)
            return ids.compactMap { state.entries.removeValue(forKey: $0)?.waiting }
        }
        for continuation in waiting { continuation.resume(returning: confirmation) }
    }

    /// Ends all requests.
    func close() {
        didDisconnect("the server is stopping")
        finish { entries in entries.keys.map { ($0, .cancelled) } }
    }

    /// Resumes the tasks whose requests have failed.
    private func finish(_ body: (inout [Int: Entry]) -> [(Int, CommandError)]) {
        let results = state.withLock { state in
            body(&state.entries).map { (state.entries.removeValue(forKey: $0.0)?.waiting, $0.1) }
        }
        for (continuation, error) in results { continuation?.resume(throwing: error) }
    }
}
