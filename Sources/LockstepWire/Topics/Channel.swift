public import LockstepModel

/// A channel of a device: the last part of a topic, after `{root}/{group}/{device}/`.
public enum Channel: Hashable, Sendable {
    /// Batches of one stream. Published by the agent.
    case stream(SensorStream)
    /// The presence message. Published retained by the agent, and by the broker as the agent's last will.
    case presence
    /// The life-cycle state of the device. Published retained by the collector.
    case state
    /// The acknowledgement of stored batches. Published retained by the collector for the agent.
    case ack
    /// A request to an agent.
    case command
    /// An agent's reply to a request.
    case commandReply
    /// What the collector's rules notify about the device. Published by the collector.
    case event
    /// A person's acknowledgement of an event, for the collector that stored the event. Published by clients.
    case eventAcknowledge
    /// An acknowledgement of an event that is stored. Published by the collector.
    case eventAcknowledged
    /// A request to collectors to forget the device. Published by clients.
    case forget
    /// A collector's answer to such a request.
    case forgotten
    /// A request to the collector to delete samples of the device. Published by clients.
    case delete
    /// Reserved for a time exchange between agent and collector.
    case clockPing, clockPong

    /// The name of the channel in topics.
    public var name: String {
        switch self {
        case .stream(let stream): stream.name
        case .presence: "presence"
        case .state: "state"
        case .ack: "ack"
        case .command: "command"
        case .commandReply: "command/reply"
        case .event: "event"
        case .eventAcknowledge: "event/acknowledge"
        case .eventAcknowledged: "event/acknowledged"
        case .forget: "forget"
        case .forgotten: "forgotten"
        case .delete: "delete"
        case .clockPing: "clock/ping"
        case .clockPong: "clock/pong"
        }
    }

    /// Creates the channel with this name, or returns nil if it is neither a fixed channel nor one of `streams`.
    public init?(name: String, streams: StreamCatalog = .builtIn) {
        if let stream = streams.stream(ofChannel: name) {
            self = .stream(stream)
        } else if let channel = Channel.fixed[name] {
            self = channel
        } else {
            return nil
        }
    }

    private static let fixed: [String: Channel] = {
        let channels: [Channel] = [
            .presence, .state, .ack, .command, .commandReply, .event, .eventAcknowledge, .eventAcknowledged,
            .forget, .forgotten, .delete, .clockPing, .clockPong,
        ]
        return Dictionary(uniqueKeysWithValues: channels.map { ($0.name, $0) })
    }()
}
