import FoundationEssentials
import LockstepCommandLine
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepWire

/// Sends one request to an agent and receives its reply.
final class CommandExchange {
    private let session: BrokerSession
    private let broker: BrokerAddress
    private let root: TopicRoot
    private let device: DeviceAddress
    private let pending: PendingRequest
    private var reply: (AgentReply, Data)?
    private var failure: CommandFailure?
    private var lastError: MQTTError?

    init(link: BrokerLink, broker: BrokerAddress, root: TopicRoot, device: DeviceAddress, request: AgentRequest) {
        let topic = root.topic(device, .commandReply)
        session = BrokerSession(link, filters: { [topic] })
        self.broker = broker
        self.root = root
        self.device = device
        pending = PendingRequest(request, to: device)
        link.onMessage = { [unowned self] message in self.handle(message) }
    }

    /// Sends the request and waits for the reply.
    /// - Throws: ``CommandFailure`` if the broker cannot be reached or denies access, or there is no reply in time.
    func run(until deadline: ContinuousClock.Instant) throws -> (AgentReply, Data) {
        while reply == nil, failure == nil, ContinuousClock.now < deadline {
            for event in session.next(until: deadline) + session.send() { try handle(event) }
        }
        session.close()
        if let reply { return reply }
        if let failure { throw failure }
        if let lastError { throw CommandFailure("\(broker): \(lastError)") }
        throw CommandFailure("no reply from \(device): check that its agent is running and connected to \(broker)")
    }

    private func handle(_ message: IncomingMessage) {
        let payload = Data(message.payload)
        do {
            if let reply = try pending.reply(in: payload) { self.reply = (reply, payload) }
        } catch {
            failure = CommandFailure("\(error)")
        }
    }

    private func handle(_ event: BrokerSession.Event) throws {
        switch event {
        case .connected: lastError = nil
        case .ready:
            // Send the request only now: before the subscription is granted, the reply could be missed. After a
            // reconnect, send it again, because it or its reply may be lost: the agent does not perform an id twice.
            try session.link.publish(pending.message(root: root))
        case .denied(_, let error): throw CommandFailure("\(broker): \(error)")
        case .published(_, let refusal):
            if let refusal { throw CommandFailure("\(broker): \(refusal)") }
        case .interrupted(let error, _):
            lastError = error
            if error.isPermanent { throw CommandFailure("\(broker): \(error)") }
        }
    }
}
