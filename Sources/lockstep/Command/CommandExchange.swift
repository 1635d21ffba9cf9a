import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// One request to an agent and its answer.
final class CommandExchange {
    private let link: BrokerLink
    private let broker: BrokerAddress
    private let root: TopicRoot
    private let device: DeviceAddress
    private let request: AgentRequest
    private var answer: (AgentReply, Data)?
    private var failure: CommandFailure?
    private var trouble: MQTTError?

    init(link: BrokerLink, broker: BrokerAddress, root: TopicRoot, device: DeviceAddress, request: AgentRequest) {
        self.link = link
        self.broker = broker
        self.root = root
        self.device = device
        self.request = request
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    /// - Throws: ``CommandFailure`` if the broker can't be reached or refuses this client, or nobody answers in time.
    func run(until deadline: ContinuousClock.Instant) throws -> (AgentReply, Data) {
        while answer == nil, failure == nil, ContinuousClock.now < deadline {
            link.wait(until: deadline)
            for event in link.read(limit: 100) + link.write() { try handle(event) }
        }
        link.stop(until: .now + .seconds(1))
        if let answer { return answer }
        if let failure { throw failure }
        if let trouble { throw CommandFailure("\(broker): \(trouble)") }
        throw CommandFailure("\(device) does not answer: is its agent running, and connected to \(broker)?")
    }

    private func handle(_ message: IncomingMessage) {
        let payload = Data(message.payload)
        do {
            let reply = try ReplyJSON.decode(payload)
            // Others may ask the same agent.
            if reply.id == request.id { answer = (reply, payload) }
        } catch {
            failure = CommandFailure("\(device) gave an answer that can't be read: \(error)")
        }
    }

    private func handle(_ event: BrokerLink.Event) throws {
        switch event {
        case .connected: try link.subscribe(to: root.topic(device, .commandReply), qos: .atLeastOnce)
        case .subscribed(_, let isGranted):
            guard isGranted else {
                throw CommandFailure("\(broker): this user may not read '\(root.topic(device, .commandReply))'")
            }
            // Only now can the answer not be missed.
            let message = MQTTMessage(topic: root.topic(device, .command), payload: RequestJSON.encode(request))
            _ = try link.publish(message)
        case .published(_, let refusal):
            if let refusal { throw CommandFailure("\(broker): \(refusal)") }
        case .failed(let error, _), .disconnected(let error, _):
            trouble = error
            switch error.code {
            case .badCredentials, .notAuthorized, .tls, .invalid: throw CommandFailure("\(broker): \(error)")
            default: break
            }
        }
    }
}
