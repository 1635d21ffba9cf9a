/// What a program does with one connection: it subscribes after each connect, receives messages, and closes the connection.
///
/// Use it from a loop on one thread: call ``next(until:limit:)``, then ``send()``, and ``close(until:)`` at the end. A program
/// that decides itself when to subscribe and what to read uses ``BrokerLink``.
public final class BrokerSession {
    /// An event of the session.
    public enum Event: Hashable, Sendable {
        /// The broker accepted the connection, and the subscriptions were requested.
        case connected(MQTTVersion)
        /// All subscriptions of this connection are granted. If the session awaits retained messages, they were received.
        case ready
        /// A subscription was refused, or its filter is invalid. The others stay.
        case denied(filter: String, MQTTError)
        /// The broker acknowledged or refused a message with QoS 1. It may also report that a message with QoS 0 was
        /// written.
        case published(id: Int32, refusal: MQTTError?)
        /// An attempt to connect has failed, or the connection has ended. The session connects again by itself.
        case interrupted(MQTTError, wasConnected: Bool)
    }

    /// The connection.
    public let link: BrokerLink
    private let qos: QualityOfService
    private let filters: () -> [String]
    private var progress: SubscriptionProgress

    /// Creates a session. It starts to connect with the first ``next(until:limit:)``.
    /// - Parameters:
    ///   - awaitsRetained: whether the session is ready only when the retained messages were received.
    ///   - filters: returns the topic filters to subscribe to.
    ///   - onMessage: handles received messages, called from within ``next(until:limit:)``; nil if the link has a handler.
    public init(
        _ link: BrokerLink, qos: QualityOfService = .atLeastOnce, awaitsRetained: Bool = false,
        filters: @escaping () -> [String], onMessage: ((IncomingMessage) -> Void)? = nil
    ) {
        self.link = link
        self.qos = qos
        self.filters = filters
        progress = SubscriptionProgress(awaitsRetained: awaitsRetained)
        if let onMessage { link.onMessage = onMessage }
    }

    /// Waits for the broker, a signal or the deadline, and reads at most about `limit` packets.
    /// - Returns: what has happened.
    public func next(until deadline: ContinuousClock.Instant, limit: Int = 1000) -> [Event] {
        link.wait(until: deadline)
        return link.read(limit: limit).flatMap(handle)
    }

    /// Sends what was published, and acknowledgements of the messages that were received.
    /// - Returns: what has happened.
    public func send() -> [Event] { link.write().flatMap(handle) }

    /// Subscribes again: to other filters, or because the access rights may have changed.
    /// - Returns: the filters that cannot be subscribed to.
    public func subscribe() -> [Event] {
        progress.begin()
        return request(filters())
    }

    /// Closes the connection without sending what is pending, see ``BrokerLink/abandon(_:)``.
    /// - Returns: what has happened.
    public func abandon(_ reason: MQTTError) -> [Event] { handle(link.abandon(reason)) }

    /// Disconnects, and waits until this is sent or the deadline is reached. The session cannot be used again.
    public func close(until deadline: ContinuousClock.Instant = .now + .seconds(1)) {
        link.stop(until: deadline)
        link.onMessage = nil
    }

    private func request(_ filters: [String]) -> [Event] {
        var events: [Event] = []
        for filter in filters {
            do throws(MQTTError) {
                if let id = try link.subscribe(to: filter, qos: qos) { progress.requested(filter, id: id) }
            } catch {
                // Any other error means that the connection is ending: `interrupted` follows.
                if [.invalid, .tooLarge].contains(error.code) { events.append(.denied(filter: filter, error)) }
            }
        }
        return events + (filters.isEmpty && link.isUp ? [.ready] : [])
    }

    private func handle(_ event: BrokerLink.Event) -> [Event] {
        switch event {
        case .connected(let version, _): return [.connected(version)] + subscribe()
        case .disconnected(let error, _): return [.interrupted(error, wasConnected: true)]
        case .failed(let error, _): return [.interrupted(error, wasConnected: false)]
        case .published(let id, let refusal): return [.published(id: id, refusal: refusal)]
        case .subscribed(let id, let isGranted):
            switch progress.answered(id, isGranted: isGranted) {
            case .wait: return []
            case .repeat(let filter): return request([filter])
            case .ready: return [.ready]
            case .denied(let filter):
                return [
                    .denied(
                        filter: filter, MQTTError(.notAuthorized, "this user is not allowed to read '\(filter)'"))
                ]
            }
        }
    }
}

/// Which subscriptions of a connection were answered, without I/O.
struct SubscriptionProgress {
    enum Step: Equatable {
        case wait
        /// Subscribe to this filter again. A broker answers in order: when it confirms the second subscription, it has sent the
        /// retained messages of the first ones.
        case `repeat`(String)
        case ready
        case denied(String)
    }

    let awaitsRetained: Bool
    private var pending: [Int32: String] = [:]
    private var isRepeated = false
    private var isDenied = false

    init(awaitsRetained: Bool) { self.awaitsRetained = awaitsRetained }

    /// The subscriptions begin anew.
    mutating func begin() { self = Self(awaitsRetained: awaitsRetained) }

    mutating func requested(_ filter: String, id: Int32) { pending[id] = filter }

    mutating func answered(_ id: Int32, isGranted: Bool) -> Step {
        guard let filter = pending.removeValue(forKey: id) else { return .wait }
        guard isGranted else {
            isDenied = true
            return .denied(filter)
        }
        guard pending.isEmpty, !isDenied else { return .wait }
        guard awaitsRetained, !isRepeated else { return .ready }
        isRepeated = true
        return .repeat(filter)
    }
}

extension MQTTError {
    /// Whether another attempt with the same settings can hardly succeed: the broker refuses the user, or an option is wrong.
    public var isPermanent: Bool {
        switch code {
        case .badCredentials, .notAuthorized, .tls, .invalid: true
        default: false
        }
    }
}
