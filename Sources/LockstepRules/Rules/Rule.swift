public import LockstepModel

/// The rules of a collector, the ways out of their notifications, and the places that they name.
public struct RuleSet: Sendable, Hashable {
    /// The rules, in the order of the file.
    public var rules: [Rule]
    /// The ways out by name. That of a mail target has a way for each recipient: `TARGET/RECIPIENT`.
    public var ways: [String: Way]

    /// Creates a set of rules.
    public init(rules: [Rule] = [], ways: [String: Way] = [:]) {
        self.rules = rules
        self.ways = ways
    }
}

/// A rule: when to notify, for which devices, and by which ways.
public struct Rule: Sendable, Hashable {
    /// What happens to notifications of samples that arrive late, such as the backlog of an outage.
    public enum LatePolicy: String, Sendable, Hashable, CaseIterable {
        /// They are notified and marked as late.
        case mark
        /// They are not notified.
        case ignore
    }

    /// The name, unique in its set.
    public var name: String
    /// What is watched.
    public var condition: Condition
    /// Only devices of these groups, or empty for all.
    public var groups: [String] = []
    /// Only devices whose `GROUP/DEVICE` or `DEVICE` matches one of these patterns, or empty for all.
    public var devices: [String] = []
    /// When notifications are allowed, or nil for always.
    public var schedule: Schedule?
    /// The minimum time between two notifications of one device, in µs.
    public var cooldown: Int64 = 0
    /// How much its events matter.
    public var severity = Severity.warning
    /// What happens to late notifications.
    public var late = LatePolicy.mark
    /// The age at receipt from which a sample is late, in µs.
    public var lateAfter: Int64 = 60_000_000
    /// The names of the ways out.
    public var ways: [String] = []
    /// The text, with the placeholders `{rule}`, `{group}`, `{device}`, `{value}` and `{time}`; nil for a default text.
    public var message: String?

    /// Creates a rule for all devices.
    public init(name: String, condition: Condition) {
        self.name = name
        self.condition = condition
    }

    /// The name under which the rule's states are kept: its name and a hash of its condition. A rule with another condition
    /// starts anew.
    public var stateName: String {
        // FNV-1a.
        let hash = condition.text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3
        }
        return "\(name) \(String(hash, radix: 16))"
    }

    /// Whether the rule concerns a device.
    public func concerns(_ device: DeviceAddress) -> Bool {
        guard groups.isEmpty || groups.contains(device.group.rawValue) else { return false }
        guard !devices.isEmpty else { return true }
        return devices.contains { pattern in
            matches(pattern.contains("/") ? device.description : device.device.rawValue, pattern: pattern)
        }
    }
}

/// A way out of notifications.
public enum Way: Sendable, Hashable {
    /// The topic `{root}/{group}/{device}/event`, with QoS 1.
    case mqtt(isRetained: Bool)
    /// A request with JSON. With a secret, it is signed with HMAC-SHA256.
    case webhook(url: String, secret: String?)
    /// A request with the text as body, as ntfy servers accept it.
    case ntfy(url: String, token: String?, priority: String?)
    /// An e-mail by SMTP.
    case mail(Mail)
    /// A program on this machine with its arguments, without a shell.
    case command([String])
    /// A request about recorded sessions, which the collector carries out itself.
    case record(RecordAction)

    /// The settings of an e-mail.
    public struct Mail: Sendable, Hashable {
        /// The server: `smtp://HOST:PORT` or `smtps://HOST:PORT`.
        public var url: String
        /// The sender.
        public var from: String
        /// The recipients, as the header lists them.
        public var to: [String]
        /// The one of them to whom this way sends. Each recipient has a way of its own, because a server accepts or refuses
        /// each of them, and because a repetition must not reach the others again.
        public var recipient: String
        /// The user at the server, or nil for none.
        public var user: String?
        /// The password at the server, or nil for none.
        public var password: String?

        /// Creates the settings of an e-mail.
        public init(
            url: String, from: String, to: [String], recipient: String, user: String? = nil, password: String? = nil
        ) {
            self.url = url
            self.from = from
            self.to = to
            self.recipient = recipient
            self.user = user
            self.password = password
        }
    }

    /// The name of the kind of way, as in the file.
    public var kind: String {
        switch self {
        case .mqtt: "mqtt"
        case .webhook: "webhook"
        case .ntfy: "ntfy"
        case .mail: "mail"
        case .command: "command"
        case .record: "record"
        }
    }
}

/// Returns whether a text matches a pattern with `*` for any characters and `?` for one.
public func matches(_ text: String, pattern: String) -> Bool {
    let text = Array(text.utf8)
    let pattern = Array(pattern.utf8)
    var (at, position) = (0, 0)
    // The position after the last star, and the text that it covers so far.
    var star: (after: Int, from: Int)?
    while at < text.count {
        if position < pattern.count, pattern[position] == UInt8(ascii: "*") {
            star = (position + 1, at)
            position += 1
        } else if position < pattern.count, pattern[position] == text[at] || pattern[position] == UInt8(ascii: "?") {
            at += 1
            position += 1
        } else if let last = star {
            star = (last.after, last.from + 1)
            (position, at) = (last.after, last.from + 1)
        } else {
            return false
        }
    }
    return pattern[position...].allSatisfy { $0 == UInt8(ascii: "*") }
}
