import LockstepModel

/// What a program does that connects to ask for something: it subscribes, sends messages, waits until something shows that
/// they were carried out, and disconnects. It connects again if the connection is lost.
package final class BrokerExchange {
    /// The longest time between two looks at a condition.
    private static let turn = Duration.milliseconds(100)

    private let session: BrokerSession
    private let broker: BrokerAddress
    /// The message to publish after each connect.
    private var request: MQTTMessage?
    /// The messages that the broker has not acknowledged yet.
    private var pending: [Int32: MQTTMessage] = [:]
    /// Whether all subscriptions of the current connection are granted.
    package private(set) var isReady = false
    /// Whether the broker has acknowledged the message of ``send(_:until:for:)``.
    package private(set) var isAccepted = false
    /// Why there is no connection, if an attempt to connect has failed or the connection has ended.
    package private(set) var connectionError: ExchangeError?
    /// Called when all subscriptions of a connection are granted.
    package var onReady: () throws -> Void = {}
    /// The topics that a user needs to write, for the advice if the broker refuses a message; nil for the topic of the message.
    package var requiredTopics: String?
    /// Handles the answer of the broker to a message; nil if a refusal ends the exchange.
    package var onAnswer: ((MQTTMessage, _ refusal: MQTTError?) throws -> Void)?

    /// Creates an exchange. It starts to connect when it waits.
    /// - Parameters:
    ///   - awaitsRetained: whether the exchange is ready only when the retained messages were received.
    ///   - filters: returns the topic filters to subscribe to.
    package init(
        _ link: BrokerLink, _ broker: BrokerAddress, qos: QualityOfService = .atLeastOnce, awaitsRetained: Bool = false,
        filters: @escaping () -> [String] = { [] }, onMessage: @escaping (IncomingMessage) -> Void = { _ in }
    ) {
        session = BrokerSession(
            link, qos: qos, awaitsRetained: awaitsRetained, filters: filters, onMessage: onMessage)
        self.broker = broker
    }

    /// The error if there is no answer of the broker in time.
    package var noAnswer: ExchangeError { connectionError ?? ExchangeError("\(broker): no answer") }
    package var version: MQTTVersion { session.link.version }

    /// Waits until a condition is true.
    /// - Parameter deadline: the end of the wait, or nil.
    /// - Returns: whether the condition is true.
    /// - Throws: ``ExchangeError`` if the broker denies access, or what the condition and the handlers throw.
    package func wait(until deadline: ContinuousClock.Instant?, for isDone: () throws -> Bool) throws -> Bool {
        while try !isDone() {
            let now = ContinuousClock.now
            if let deadline, now >= deadline { return false }
            // What the condition has published is sent before the wait.
            let next = min(deadline ?? now + Self.turn, now + Self.turn)
            for event in session.send() + session.next(until: next) { try handle(event) }
        }
        return true
    }

    /// Publishes a message as soon as the exchange is ready, and again after each reconnect, because it or its answer may be
    /// lost, and waits until a condition is true.
    /// - Returns: whether the condition is true.
    /// - Throws: as ``wait(until:for:)``.
    package func send(
        _ message: MQTTMessage, until deadline: ContinuousClock.Instant, for isDone: () throws -> Bool
    ) throws -> Bool {
        (request, isAccepted) = (message, false)
        defer { request = nil }
        if isReady { try publish(message) }
        return try wait(until: deadline, for: isDone)
    }

    /// Publishes a message once, if the exchange is connected.
    package func publish(_ message: MQTTMessage) throws {
        if let id = try session.link.publish(message) { pending[id] = message }
    }

    /// Subscribes again, to other filters.
    package func subscribe() throws {
        isReady = false
        for event in session.subscribe() { try handle(event) }
    }

    /// Sends what was published, and disconnects.
    package func close() {
        _ = session.send()
        session.close()
    }

    private func handle(_ event: BrokerSession.Event) throws {
        switch event {
        case .connected: connectionError = nil
        case .ready:
            isReady = true
            try onReady()
            if let request { try publish(request) }
        case .denied(_, let error): throw ExchangeError("\(broker): \(error)")
        case .published(let id, let refusal):
            guard let message = pending.removeValue(forKey: id) else { return }
            if let onAnswer {
                try onAnswer(message, refusal)
            } else if let refusal {
                throw ExchangeError(
                    "\(broker): \(refusal): \(ExchangeError.advice(toWrite: requiredTopics ?? message.topic))")
            }
            isAccepted = isAccepted || refusal == nil
        case .interrupted(let error, _):
            isReady = false
            pending = [:]
            connectionError = ExchangeError("\(broker): \(error)")
            if error.isPermanent { throw noAnswer }
        }
    }
}

/// Why an exchange with a broker does not succeed, and what to do.
package struct ExchangeError: Error, CustomStringConvertible {
    /// The text for the user.
    package let description: String

    package init(_ description: String) { self.description = description }

    /// Returns what to do if the broker refuses messages on a topic.
    package static func advice(toWrite topic: String) -> String {
        "use the credentials of an operator, and allow it to write '\(topic)' (see broker-config/production.acl)"
    }
}
