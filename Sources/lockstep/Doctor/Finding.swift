import LockstepMQTT

/// The result of one check.
struct Finding: Equatable {
    /// The severity of a finding; the raw value is its text in JSON.
    enum Level: String, CaseIterable {
        case ok, warning, failure
        /// The check has no result: what was received does not show it.
        case unknown
    }

    var level: Level
    /// The checked part: `broker`, `collector default/main`, `device lab/arm-left`.
    var subject: String
    var text: String
    /// The suggested action, if any.
    var advice: String?

    init(_ level: Level, _ subject: String, _ text: String, _ advice: String? = nil) {
        self.level = level
        self.subject = subject
        self.text = text
        self.advice = advice
    }
}

/// A reason why a message may exist although it was not received.
enum Doubt: Equatable {
    /// The broker refused the subscription.
    case refused
    /// This user may have no right to read. Brokers such as Mosquitto grant a subscription to topics that a user may not
    /// read, and send nothing.
    case rights
    /// The broker keeps no retained messages.
    case noRetained
    /// No retained message has arrived. Brokers such as RabbitMQ send none to subscriptions with wildcards.
    case retained
    /// The connection was lost.
    case losses

    var reason: String {
        switch self {
        case .refused: "the broker refused the subscription"
        case .rights: "this user may have no right to read it, which brokers do not report"
        case .noRetained: "the broker keeps no retained messages"
        case .retained: "no retained message has arrived: not every broker sends them to subscriptions with wildcards"
        case .losses: "the connection was lost meanwhile"
        }
    }

    var advice: String {
        switch self {
        case .refused, .rights:
            "use the credentials of a reader or operator: --user, --cert-file, or --config of their settings"
        case .noRetained: "allow retained messages in the broker: in Mosquitto, remove 'retain_available false'"
        case .retained: "use --seconds 80: collectors report every 10 s, agents every 30 s"
        case .losses: "see the finding about the connection, and try again"
        }
    }
}

extension Observations {
    /// The time after which a running collector has reported, and one after which a running agent has, in s. The first
    /// reports every 10 s, the other every 30 s.
    static let reportTimes = (collector: 25.0, agent: 70.0)

    /// The reasons why messages that are kept by the broker may not have been received.
    /// - Parameter time: after this time, in s, what is looked for would have been published again.
    func doubts(publishedWithin time: Double = .infinity) -> [Doubt] {
        guard canRead else { return [.refused] }
        var doubts: [Doubt] = []
        // A user who may publish as any device has all rights, or the broker has no access rights.
        if canWriteAsDevice != true, !hasOthersMessage { doubts.append(.rights) }
        if seconds < time {
            if !isRetainAvailable {
                doubts.append(.noRetained)
            } else if !hasRetained, version != .five || software?.hasPrefix("mosquitto") != true {
                // Mosquitto tells with MQTT 5 whether it keeps retained messages.
                doubts.append(.retained)
            }
        }
        if losses > 0 { doubts.append(.losses) }
        return doubts
    }
}

extension Finding {
    /// Creates a finding about something that was not received, and may exist nevertheless.
    /// - Parameter doubts: why; at least one.
    static func unknown(_ subject: String, _ text: String, _ doubts: [Doubt]) -> Finding {
        Finding(
            .unknown, subject, "\(text): " + doubts.map(\.reason).joined(separator: ", and "),
            doubts.first?.advice)
    }
}
