package import FoundationEssentials
package import LockstepMQTT
package import LockstepModel
package import LockstepWire

/// The requests that wait for an answer, and what is to be sent.
struct RequestTable {
    /// What a request waits for.
    enum Expectation {
        /// The reply of an agent.
        case reply(PendingRequest)
        /// The confirmation of the collector that has stored an event.
        case confirmation(RuleEvent.Key)
        /// The broker's acknowledgement.
        case publication
    }

    enum Answer: Sendable, Hashable {
        case reply(CommandReply)
        case confirmation(StoredAcknowledgement)
        case publication
    }

    typealias Outcome = Result<Answer, CommandError>

    private struct Entry {
        let expected: Expectation
        let messages: [MQTTMessage]
        /// The time at which the request fails, in µs of the boot clock.
        let deadline: Int64
        var isSent = false
        /// The ids of the messages that the broker has not answered.
        var unanswered: [Int32] = []
        /// Whether the broker has accepted one of the messages.
        var isAccepted = false
    }

    private var entries: [Int: Entry] = [:]
    private var lastID = 0

    var count: Int { entries.count }
    /// The time at which the next request fails, in µs of the boot clock.
    var nextDeadline: Int64? { entries.values.map(\.deadline).min() }

    mutating func reserveID() -> Int {
        lastID += 1
        return lastID
    }

    mutating func add(_ expected: Expectation, _ messages: [MQTTMessage], deadline: Int64, id: Int) {
        entries[id] = Entry(expected: expected, messages: messages, deadline: deadline)
    }

    mutating func remove(_ id: Int) { entries[id] = nil }

    /// Removes all requests, and returns their numbers.
    mutating func removeAll() -> [Int] {
        defer { entries = [:] }
        return Array(entries.keys)
    }

    /// Marks all requests as not sent: after a reconnect, a request or its answer may be lost.
    mutating func didConnect() {
        for (id, entry) in entries {
            entries[id] = Entry(expected: entry.expected, messages: entry.messages, deadline: entry.deadline)
        }
    }

    /// Sends the requests that were not sent.
    /// - Parameter send: queues a message and returns its id, or nil if there is no connection.
    /// - Returns: the requests that could not be sent.
    mutating func sendAll(_ send: (MQTTMessage) throws(MQTTError) -> Int32?) -> [(Int, Outcome)] {
        var results: [(Int, Outcome)] = []
        for (id, entry) in entries where !entry.isSent {
            var sent: [Int32] = []
            do {
                for message in entry.messages {
                    guard let messageID = try send(message) else { return results }
                    sent.append(messageID)
                }
                entries[id]?.isSent = true
                entries[id]?.unanswered = sent
            } catch {
                entries[id] = nil
                results.append((id, .failure(.refused(error.description))))
            }
        }
        return results
    }

    /// Handles the broker's acknowledgement of a message. A request fails when all of its messages are refused.
    mutating func didPublish(_ messageID: Int32, refusal: MQTTError?) -> [(Int, Outcome)] {
        guard let (id, entry) = entries.first(where: { $0.value.unanswered.contains(messageID) }) else { return [] }
        entries[id]?.unanswered.removeAll { $0 == messageID }
        guard let refusal else {
            entries[id]?.isAccepted = true
            guard case .publication = entry.expected else { return [] }
            entries[id] = nil
            return [(id, .success(.publication))]
        }
        guard entry.unanswered == [messageID], !entry.isAccepted else { return [] }
        entries[id] = nil
        return [(id, .failure(.refused(refusal.description)))]
    }

    /// Handles a message on a device's topic for replies.
    mutating func handle(_ payload: Data, from device: DeviceAddress) -> [(Int, Outcome)] {
        var results: [(Int, Outcome)] = []
        for (id, entry) in entries {
            guard case .reply(let pending) = entry.expected, pending.device == device else { continue }
            do {
                guard let reply = try pending.reply(in: payload) else { continue }
                results.append((id, .success(.reply(CommandReply(reply: reply, payload: Array(payload))))))
            } catch {
                results.append((id, .failure(error)))
            }
            entries[id] = nil
        }
        return results
    }

    /// Handles the confirmation of a collector, which answers all requests for its event.
    mutating func handle(_ confirmation: StoredAcknowledgement) -> [(Int, Outcome)] {
        let ids = entries.filter { if case .confirmation(confirmation.key) = $0.value.expected { true } else { false } }
            .keys
        for id in ids { entries[id] = nil }
        return ids.map { ($0, .success(.confirmation(confirmation))) }
    }

    /// Removes the requests whose time is over.
    mutating func expire(at boot: Int64, problem: String? = nil) -> [(Int, Outcome)] {
        let expired = entries.filter { $0.value.deadline <= boot }
        for id in expired.keys { entries[id] = nil }
        return expired.map { id, entry in
            switch entry.expected {
            case .reply(let pending): (id, .failure(.noReply(device: "\(pending.device)")))
            case .confirmation: (id, .failure(.notConfirmed))
            case .publication:
                (id, .failure(.notConnected(problem ?? "it has not acknowledged the request in time")))
            }
        }
    }
}

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

/// The error of a request to an agent.
public enum CommandError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no connection to the broker, for this reason.
    case notConnected(String)
    /// The agent did not reply in time.
    case noReply(device: String)
    /// No collector confirmed an acknowledgement in time.
    case notConfirmed
    /// No collector carried out a request about a session of this group in time.
    case notRecorded(group: String)
    /// A session was deleted while something of it was waited for.
    case sessionDeleted
    /// The broker refused the request, for this reason.
    case refused(String)
    /// The reply cannot be decoded, for this reason.
    case invalidReply(device: String, reason: String)
    /// There are as many requests without a reply as the limit allows.
    case tooManyRequests(limit: Int)
    /// The caller's task was cancelled, or the feed has ended.
    case cancelled

    /// The cause, and what to do.
    public var description: String {
        switch self {
        case .notConnected(let reason): "not connected to the broker: \(reason)"
        case .noReply(let device):
            "no reply from \(device): check that its agent is running and connected to the broker"
        case .notConfirmed:
            "no collector confirmed this: check that there is such an event, and that the collector that stored it is "
                + "running and connected to the broker"
        case .notRecorded(let group):
            "the broker has the request, but no collector has carried it out: check with 'lockstep doctor' that the "
                + "collector of the group '\(group)' runs, and with 'lockstep query rejected' that it has not refused it"
        case .sessionDeleted: "the session was deleted"
        case .refused(let reason): "the broker refused the request: \(reason)"
        case .invalidReply(let device, let reason): "invalid reply from \(device): \(reason)"
        case .tooManyRequests(let limit): "\(limit) requests already wait for a reply: try again later"
        case .cancelled: "the request was cancelled"
        }
    }
}
