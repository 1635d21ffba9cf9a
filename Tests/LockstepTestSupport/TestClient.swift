import Dispatch
import Foundation
public import LockstepMQTT
import LockstepModel
import Synchronization
public import Testing

/// An MQTT client for tests, which publishes messages and collects those that it receives.
public final class TestClient: Sendable {
    public struct Message: Sendable {
        public let topic: String
        public let payload: [UInt8]
        public let isRetained: Bool
        public let contentType: String?
        public let at: ContinuousClock.Instant
        public var text: String { String(decoding: payload, as: UTF8.self) }
    }

    private struct State {
        var messages: [Message] = []
        var outgoing: [MQTTMessage] = []
        var unconfirmed = 0
        var refusals: [MQTTError] = []
        /// The topics of the messages that were sent and not confirmed, by message id.
        var topics: [Int32: String] = [:]
        var refusedTopics: Set<String> = []
        var isListening = false
        var isStopping = false
        var isStopped = false

        mutating func takeOutgoing() -> [MQTTMessage] {
            defer { outgoing = [] }
            return outgoing
        }
    }

    private let state = Mutex(State())
    private let wakeup = Wakeup()

    /// Connects and subscribes to `filters`.
    /// - Parameters:
    ///   - id: the client id, or nil for one that no other client has.
    ///   - keepsSession: whether the broker keeps messages while the client is not connected.
    ///   - will: the last will.
    public init(
        _ address: BrokerAddress, filters: [String] = ["#"], version: MQTTVersion? = nil,
        tls: TLSOptions = TLSOptions(), id: String? = nil, keepsSession: Bool = false, will: MQTTMessage? = nil
    ) {
        let id = id ?? "test-\(UUID().uuidString)"
        DispatchQueue(label: id).async { [self] in
            let link = BrokerLink(wakeup: wakeup, version: version) { version in
                MQTTOptions(
                    address: address, clientID: id, keepsSession: keepsSession, will: will, version: version,
                    tls: tls)
            }
            link.onMessage = { [self] message in
                let copy = Message(
                    topic: message.topic, payload: Array(message.payload), isRetained: message.isRetained,
                    contentType: message.contentType, at: .now)
                state.withLock { $0.messages.append(copy) }
            }
            var granted = 0
            while !state.withLock({ $0.isStopping }) {
                link.wait(until: .now + .seconds(1))
                for event in link.read() + link.write() {
                    switch event {
                    case .connected:
                        granted = 0
                        if filters.isEmpty { state.withLock { $0.isListening = true } }
                        for filter in filters { _ = try? link.subscribe(to: filter, qos: .atLeastOnce) }
                    case .subscribed:
                        granted += 1
                        if granted == filters.count { state.withLock { $0.isListening = true } }
                    case .published(let id, let refusal):
                        state.withLock {
                            $0.unconfirmed -= 1
                            let topic = $0.topics.removeValue(forKey: id)
                            guard let refusal else { return }
                            $0.refusals.append(refusal)
                            if let topic { $0.refusedTopics.insert(topic) }
                        }
                    case .disconnected, .failed: break
                    }
                }
                guard link.isUp else { continue }
                for message in state.withLock({ $0.takeOutgoing() }) {
                    guard let id = try? link.publish(message) else { continue }
                    state.withLock { $0.topics[id] = message.topic }
                }
                _ = link.write()
            }
            link.stop(until: .now + .seconds(1))
            state.withLock { $0.isStopped = true }
        }
    }

    public var messages: [Message] { state.withLock { $0.messages } }

    /// The reasons of refused publishes.
    public var refusals: [MQTTError] { state.withLock { $0.refusals } }

    /// The topics of refused messages.
    public var refusedTopics: Set<String> { state.withLock { $0.refusedTopics } }

    /// Waits until the broker has granted the subscriptions.
    public func waitUntilListening() async -> Bool { await eventually { state.withLock { $0.isListening } } }

    /// Publishes a message and waits until the broker has acknowledged or refused it. Returns false at the deadline.
    public func publish(
        _ topic: String, _ payload: some Sequence<UInt8>, isRetained: Bool = false
    ) async -> Bool {
        await publish([MQTTMessage(topic: topic, payload: Array(payload), isRetained: isRetained)])
    }

    /// Publishes messages and waits until the broker has acknowledged or refused all. Returns false at the deadline.
    public func publish(_ messages: [MQTTMessage]) async -> Bool {
        state.withLock {
            $0.outgoing += messages
            $0.unconfirmed += messages.count
        }
        wakeup.signal()
        return await eventually { state.withLock { $0.unconfirmed <= 0 } }
    }

    public func publish(_ topic: String, _ text: String, isRetained: Bool = false) async -> Bool {
        await publish(topic, text.utf8, isRetained: isRetained)
    }

    /// Waits for a message that matches. Returns nil if the deadline passes first.
    public func waitForMessage(
        within limit: Duration = .seconds(60), where matches: (Message) -> Bool
    ) async -> Message? {
        var found: Message?
        _ = await eventually(within: limit) {
            found = messages.first(where: matches)
            return found != nil
        }
        return found
    }

    /// Waits for a message that matches, and records an issue if the deadline passes first.
    public func expectMessage(
        within limit: Duration = .seconds(60), sourceLocation: SourceLocation = #_sourceLocation,
        where matches: (Message) -> Bool
    ) async {
        if await waitForMessage(within: limit, where: matches) == nil {
            Issue.record("no matching message within \(limit)", sourceLocation: sourceLocation)
        }
    }

    public func stop() async {
        state.withLock { $0.isStopping = true }
        wakeup.signal()
        _ = await eventually { state.withLock { $0.isStopped } }
    }
}
