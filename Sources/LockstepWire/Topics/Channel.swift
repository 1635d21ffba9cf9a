public import LockstepModel

/// What follows `{root}/{group}/{device}/` in a topic.
public enum Channel: Hashable, Sendable {
    /// Batches of one stream; agent to all.
    case stream(SensorStream)
    /// The agent's word about itself, retained; also its last will.
    case presence
    /// The life-cycle state, retained; collector to all.
    case state
    /// What is on disk, retained; collector to agent.
    case ack
    /// A request to an agent.
    case command
    /// An agent's answer.
    case commandReply
    case clockPing, clockPong

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

    public init?(name: String) {
        guard let channel = Channel.byName[name] else { return nil }
        self = channel
    }

    private static let byName: [String: Channel] = {
        let fixed: [Channel] = [.presence, .state, .ack, .command, .commandReply, .clockPing, .clockPong]
        return Dictionary(
            uniqueKeysWithValues: (fixed + SensorStream.builtIn.map(Channel.stream)).map { ($0.name, $0) })
    }()
}
