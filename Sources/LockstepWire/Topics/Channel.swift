public import LockstepModel

/// The last part of a topic, after `{root}/{group}/{device}/`.
public enum Channel: Hashable, Sendable {
    /// Batches of one stream, from an agent to all.
    case stream(SensorStream)
    /// The agent's presence message, retained. Also the topic of its last will.
    case presence
    /// The life-cycle state of the device, retained, from the collector to all.
    case state
    /// The acknowledgement of stored batches, retained, from the collector to the agent.
    case ack
    /// A request to an agent.
    case command
    /// An agent's reply to a request.
    case commandReply
    /// The two directions of the time exchange between agent and collector.
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
        let channels: [Channel] = [.presence, .state, .ack, .command, .commandReply, .clockPing, .clockPong]
        return Dictionary(uniqueKeysWithValues: channels.map { ($0.name, $0) })
    }()
}
