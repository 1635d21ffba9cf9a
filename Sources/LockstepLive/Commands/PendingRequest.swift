package import FoundationEssentials
package import LockstepMQTT
package import LockstepModel
package import LockstepWire

/// A request to an agent that waits for its reply.
package struct PendingRequest: Sendable {
    /// The device.
    package let device: DeviceAddress
    /// The request, which has an id.
    package let request: AgentRequest

    /// Creates a request. If it has no id, it gets a random one, which the reply repeats.
    package init(_ request: AgentRequest, to device: DeviceAddress) {
        self.device = device
        self.request = AgentRequest(
            id: request.id ?? "\(Epoch.random())", client: request.client, action: request.action)
    }

    /// Returns the message for the agent. It may be sent again, because an agent does not perform an id twice.
    package func message(root: TopicRoot) -> MQTTMessage {
        MQTTMessage(topic: root.topic(device, .command), payload: RequestJSON.encode(request))
    }

    /// Returns the reply in a message on the device's topic for replies.
    /// - Returns: nil for a reply to another client, which arrives on the same topic.
    /// - Throws: ``CommandError`` if the message cannot be decoded.
    package func reply(in payload: Data) throws(CommandError) -> AgentReply? {
        do {
            let reply = try ReplyJSON.decode(payload)
            return reply.id == request.id ? reply : nil
        } catch {
            throw .invalidReply(device: "\(device)", reason: "\(error)")
        }
    }
}
