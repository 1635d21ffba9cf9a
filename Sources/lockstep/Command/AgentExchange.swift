import FoundationEssentials
import LockstepCommandLine
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepWire

extension ConnectionOptions {
    /// Sends a request to an agent over a connection of its own, and waits for the reply.
    /// - Parameter purpose: what the program does, for its client id.
    /// - Returns: the reply, and its payload.
    /// - Throws: ``CommandFailure`` if the agent refuses the request, or why there is no reply.
    func send(
        _ request: PendingRequest, for purpose: String, _ settings: Settings, _ root: TopicRoot,
        until deadline: ContinuousClock.Instant
    ) throws -> (AgentReply, Data) {
        var result: Result<(AgentReply, Data), CommandError>?
        let (link, broker) = try link(settings, for: purpose)
        // The request is sent only when the subscription is granted, as the reply could be missed before. It may be sent
        // again, because the agent does not perform an id twice.
        let exchange = BrokerExchange(
            link, broker, filters: { [root.topic(request.device, .commandReply)] }
        ) { message in
            let payload = Data(message.payload)
            do throws(CommandError) {
                if let reply = try request.reply(in: payload) { result = .success((reply, payload)) }
            } catch {
                result = result ?? .failure(error)
            }
        }
        defer { exchange.close() }
        _ = try exchange.send(request.message(root: root), until: deadline) { result != nil }
        guard let result else {
            throw exchange.connectionError
                ?? ExchangeError(
                    "no reply from \(request.device): check that its agent is running and connected to \(broker)")
        }
        let (reply, payload) = try result.get()
        if case .failed(let reason) = reply.outcome { throw CommandFailure("\(request.device): \(reason)") }
        return (reply, payload)
    }
}
