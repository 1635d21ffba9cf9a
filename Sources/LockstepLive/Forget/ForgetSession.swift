package import FoundationEssentials
package import LockstepMQTT
package import LockstepModel

/// The reason why something cannot be forgotten, and what to do.
package struct ForgetError: Error, CustomStringConvertible {
    /// The text for the user.
    package let description: String

    /// Creates an error with this text.
    package init(_ description: String) { self.description = description }
}

/// The decisions of a removal, without I/O: messages and times in, messages to publish and the result out.
package protocol ForgetTask {
    /// The topic filters to subscribe to before anything else.
    var filters: [String] { get }

    /// Handles a new connection, after all filters are granted.
    mutating func didSubscribe(at now: Moment)

    /// Handles a message.
    mutating func handle(topic: String, payload: Data, isRetained: Bool)

    /// Handles the broker's acknowledgement of a message that is not empty.
    mutating func didPublish(_ topic: String)

    /// Handles the refusal of a message that was published.
    /// - Throws: ``ForgetError`` if the task cannot be completed.
    mutating func didRefuse(_ topic: String, _ reason: String) throws

    /// Returns the messages to publish now.
    mutating func takeMessages(at now: Moment) throws -> [MQTTMessage]

    /// The text for the user once the task is complete.
    func result() -> String?

    /// The time of the next call to ``takeMessages(at:)``, in µs of the boot clock.
    var deadline: Int64 { get }
}

extension ForgetTask {
    /// Does nothing by default.
    package mutating func didPublish(_ topic: String) {}
}

/// Carries out a removal over a connection to the broker.
package final class ForgetSession {
    /// The time to wait for a connection.
    private static let patience = Duration.seconds(10)

    private let session: BrokerSession
    private let broker: BrokerAddress
    private var task: any ForgetTask
    private var isSubscribed = false
    private var version: MQTTVersion?
    /// The topics of the messages that the broker has not acknowledged yet. All but requests are empty.
    private var topics: [Int32: (topic: String, isEmpty: Bool)] = [:]
    private var lastError: MQTTError?

    /// Creates a session, which connects in ``run()``.
    package init(link: BrokerLink, broker: BrokerAddress, task: any ForgetTask) {
        let filters = task.filters
        session = BrokerSession(link, filters: { filters })
        self.broker = broker
        self.task = task
        link.onMessage = { [unowned self] message in
            self.task.handle(
                topic: message.topic, payload: Data(message.payload), isRetained: message.isRetained)
        }
    }

    /// Runs until the task is complete.
    /// - Returns: the text for the user.
    /// - Throws: ``ForgetError`` if the broker cannot be reached, or the reason why the task fails.
    package func run() throws -> String {
        defer { session.close() }
        let connectDeadline = ContinuousClock.now + Self.patience
        while true {
            let rest = isSubscribed ? task.deadline - Moment.now().boot : 100_000
            let deadline = ContinuousClock.now + .microseconds(max(0, min(rest, 1_000_000)))
            for event in session.next(until: deadline) + session.send() { try handle(event) }
            if isSubscribed {
                for message in try task.takeMessages(at: .now()) {
                    if let id = try session.link.publish(message) {
                        topics[id] = (message.topic, message.payload.isEmpty)
                    }
                }
                for event in session.send() { try handle(event) }
                if let result = task.result() { return result }
            } else if ContinuousClock.now >= connectDeadline {
                throw ForgetError("\(broker): \(lastError.map { "\($0)" } ?? "no answer")")
            }
        }
    }

    private func handle(_ event: BrokerSession.Event) throws {
        switch event {
        case .connected(let version): self.version = version
        case .ready:
            isSubscribed = true
            task.didSubscribe(at: .now())
        case .denied(_, let error): throw ForgetError("\(broker): \(error)")
        case .published(let id, let refusal):
            guard let sent = topics.removeValue(forKey: id) else { return }
            if let refusal {
                try task.didRefuse(sent.topic, "\(refusal)")
            } else if !sent.isEmpty {
                task.didPublish(sent.topic)
            } else if version == .five {
                // With MQTT 5, clients do not receive their own messages. With MQTT 3.1.1 only the message itself shows that
                // the broker has accepted it.
                task.handle(topic: sent.topic, payload: Data(), isRetained: false)
            }
        case .interrupted(let error, _):
            lastError = error
            isSubscribed = false
            if error.isPermanent { throw ForgetError("\(broker): \(error)") }
        }
    }
}
