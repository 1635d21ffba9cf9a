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
