package import FoundationEssentials
package import LockstepMQTT
package import LockstepModel

/// The decisions of a removal, without I/O: messages and times in, messages to publish and the result out.
package protocol ForgetTask {
    /// The topic filters to subscribe to before anything else.
    var filters: [String] { get }

    /// Handles a new connection, after all filters are granted.
    mutating func didSubscribe(at now: Moment)

    /// Handles a message.
    mutating func handle(topic: String, payload: Data, isRetained: Bool)

    /// Handles the refusal of a message that was published.
    /// - Throws: `ExchangeError` if the task cannot be completed.
    mutating func didRefuse(_ topic: String, _ reason: String) throws

    /// Returns the messages to publish now.
    mutating func takeMessages(at now: Moment) throws -> [MQTTMessage]

    /// The text for the user once the task is complete.
    func result() -> String?
}

/// Carries out a removal over a connection to the broker.
package final class ForgetSession {
    /// The time to wait for a connection.
    private static let patience = Duration.seconds(10)

    private let exchange: BrokerExchange
    private var task: any ForgetTask

    /// Creates a session, which connects in ``run()``.
    package init(link: BrokerLink, broker: BrokerAddress, task: any ForgetTask) {
        let filters = task.filters
        exchange = BrokerExchange(link, broker, filters: { filters })
        self.task = task
        link.onMessage = { [unowned self] message in
            self.task.handle(
                topic: message.topic, payload: Data(message.payload), isRetained: message.isRetained)
        }
        exchange.onReady = { [unowned self] in self.task.didSubscribe(at: .now()) }
        exchange.onAnswer = { [unowned self] in try handle($0, $1) }
    }

    /// Runs until the task is complete.
    /// - Returns: the text for the user.
    /// - Throws: `ExchangeError` if the broker cannot be reached, or the reason why the task fails.
    package func run() throws -> String {
        defer { exchange.close() }
        let connectDeadline = ContinuousClock.now + Self.patience
        var result: String?
        _ = try exchange.wait(until: nil) {
            guard exchange.isReady else {
                if ContinuousClock.now >= connectDeadline { throw exchange.noAnswer }
                return false
            }
            for message in try task.takeMessages(at: .now()) { try exchange.publish(message) }
            result = task.result()
            return result != nil
        }
        return result ?? ""
    }

    private func handle(_ message: MQTTMessage, _ refusal: MQTTError?) throws {
        if let refusal { return try task.didRefuse(message.topic, "\(refusal)") }
        // With MQTT 5, clients do not receive their own messages. With MQTT 3.1.1 only the message itself shows that the
        // broker has accepted it.
        guard message.payload.isEmpty, exchange.version == .five else { return }
        task.handle(topic: message.topic, payload: Data(), isRetained: false)
    }
}
