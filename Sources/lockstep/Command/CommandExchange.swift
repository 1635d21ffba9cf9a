import FoundationEssentials
import LockstepCommandLine
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepWire

/// Sends one request to an agent and receives its reply.
final class CommandExchange {
    private let link: BrokerLink
    private let broker: BrokerAddress
    private let root: TopicRoot
    private let device: DeviceAddress
    private let pending: PendingRequest
    private var reply: (AgentReply, Data)?
    private var failure: CommandFailure?
    private var lastError: MQTTError?

    init(link: BrokerLink, broker: BrokerAddress, root: TopicRoot, device: DeviceAddress, request: AgentRequest) {
        self.link = link
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
            link.wait(until: deadline)
            for event in link.read(limit: 100) + link.write() { try handle(event) }
        }
        link.stop(until: .now + .seconds(1))
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

    private func handle(_ event: BrokerLink.Event) throws {
        switch event {
        case .connected:
            lastError = nil
            try link.subscribe(to: root.topic(device, .commandReply), qos: .atLeastOnce)
        case .subscribed(_, let isGranted):
            guard isGranted else {
                throw CommandFailure(
                    "\(broker): this user is not allowed to read '\(root.topic(device, .commandReply))'")
            }
            // Send the request only now: before the subscription is granted, the reply could be missed. After a
            // reconnect, send it again, because it or its reply may be lost: the agent does not perform an id twice.
            _ = try link.publish(pending.message(root: root))
        case .published(_, let refusal):
            if let refusal { throw CommandFailure("\(broker): \(refusal)") }
        case .failed(let error, _), .disconnected(let error, _):
            lastError = error
            switch error.code {
            case .badCredentials, .notAuthorized, .tls, .invalid: throw CommandFailure("\(broker): \(error)")
            default: break
            }
        }
    }
}
