public import LockstepModel

/// Reads the events of rules.
public protocol EventReading: AnyObject {
    /// Returns events of rules, oldest first.
    /// - Parameters:
    ///   - device: only events of this device, or nil for all.
    ///   - group: only events of devices of this group, or nil for all.
    ///   - rule: only events of the rule with this name, or nil for all.
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - after: only events with a higher number.
    ///   - before: only events with a lower number.
    ///   - limit: the maximum number of events. If there are more, the newest are returned.
    func events(
        of device: DeviceAddress?, group: GroupID?, rule: String?, from: Timestamp?, to: Timestamp?, after: Int64,
        before: Int64, limit: Int, cancellation: QueryCancellation?
    ) throws(StoreError) -> [StoredEvent]

    /// Returns notifications in one state, oldest first.
    /// - Throws: ``StoreError`` if the store cannot be read.
    func deliveries(_ state: EventDelivery.State) throws(StoreError) -> [EventDelivery]
}

extension StoreReader: EventReading {
    public var events: (any EventReading)? { self }
}
