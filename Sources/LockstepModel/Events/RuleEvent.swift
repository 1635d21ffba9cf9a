/// How much an event of a rule matters.
public enum Severity: String, Sendable, Hashable, CaseIterable {
    /// Good to know.
    case info
    /// Someone should look at it.
    case warning
    /// Someone has to act.
    case critical
}

/// Something that a rule tells.
public struct RuleEvent: Sendable, Hashable {
    /// What identifies an event in every store: a rule tells each time of a device once.
    public struct Key: Sendable, Hashable {
        /// The name of the rule.
        public var rule: String
        /// The device, or nil for the collector's machine.
        public var device: DeviceAddress?
        /// When it happened: the time of the sample or transition that completed the condition.
        public var time: Timestamp

        /// Creates a key.
        public init(rule: String, device: DeviceAddress?, time: Timestamp) {
            self.rule = rule
            self.device = device
            self.time = time
        }
    }

    /// The rule, the device and the time.
    public var key: Key
    /// When it was detected, on the collector's clock.
    public var at: Timestamp
    /// The value that completed the condition, if there is one.
    public var value: Double?
    /// The text for people.
    public var text: String
    /// Whether the sample arrived late.
    public var isLate: Bool
    /// The names of the ways out. Neither messages nor the table of events have them.
    public var ways: [String]
    /// The severity that its rule had.
    public var severity: Severity

    /// Creates an event.
    public init(
        key: Key, at: Timestamp, value: Double?, text: String, isLate: Bool, severity: Severity = .warning,
        ways: [String] = []
    ) {
        self.key = key
        self.at = at
        self.value = value
        self.text = text
        self.isLate = isLate
        self.severity = severity
        self.ways = ways
    }

    /// The name of the rule.
    public var rule: String { key.rule }
    /// The device, or nil for the collector's machine.
    public var device: DeviceAddress? { key.device }
    /// When it happened, in the time of the samples.
    public var time: Timestamp { key.time }
}

/// An event in the store of a collector. Its members are also those of the event.
@dynamicMemberLookup
public struct StoredEvent: Sendable, Hashable {
    /// The number of the event in the store of its collector, which later events exceed.
    public var id: Int64
    /// The event.
    public var event: RuleEvent
    /// When a person acknowledged it, or nil.
    public var acknowledged: Timestamp?

    /// Creates a stored event.
    public init(id: Int64, event: RuleEvent, acknowledged: Timestamp? = nil) {
        self.id = id
        self.event = event
        self.acknowledged = acknowledged
    }

    /// Returns a member of the event.
    public subscript<Value>(dynamicMember member: KeyPath<RuleEvent, Value>) -> Value { event[keyPath: member] }
}

/// An acknowledgement in the store of a collector.
public struct StoredAcknowledgement: Sendable, Hashable {
    /// The number of the event in the store of the collector.
    public var id: Int64
    /// The event.
    public var key: RuleEvent.Key
    /// When a person first acknowledged it, on the collector's clock.
    public var acknowledged: Timestamp

    /// Creates a stored acknowledgement.
    public init(id: Int64, key: RuleEvent.Key, acknowledged: Timestamp) {
        self.id = id
        self.key = key
        self.acknowledged = acknowledged
    }
}
