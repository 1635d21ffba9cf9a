package import LockstepModel

/// What a store keeps of a device: a row of the view `devices`.
package struct DeviceRecord: Hashable, Sendable {
    /// The id in all tables.
    package let id: Int64
    package let address: DeviceAddress
    /// The time of the first message, on the collector's clock.
    package var firstSeen: Timestamp?
    /// The time of the last message, on the collector's clock.
    package var lastSeen: Timestamp?
    /// The time of the newest sample.
    package var lastSample: Int64?
    /// The numbers of stored, duplicate and conflicting samples.
    package var counts = IngestResult.Counts()
    /// The life cycle.
    package var lifecycle = LifecycleSnapshot()

    /// Creates the record of a device that was never seen.
    package init(id: Int64, _ address: DeviceAddress) {
        self.id = id
        self.address = address
    }

    /// The columns of the view `devices`.
    package static let columns = [
        "device_id", "group_name", "device", "first_seen", "last_seen", "last_t", "samples", "duplicates", "conflicts",
        "state", "since", "previous", "reason", "state_seq", "session", "session_epoch", "phase", "rests_on",
    ]

    /// Reads all devices, or the one with an id, ordered by group and device.
    package static func read(
        _ source: any StoreSource, id: Int64? = nil
    ) throws(StoreError) -> [DeviceRecord] {
        try source.rows(
            """
            SELECT \(columns.joined(separator: ", ")) FROM devices \(id.map { "WHERE device_id = \($0)" } ?? "")
            ORDER BY group_name, device, device_id
            """
        ) { row throws(StoreError) in DeviceRecord(row) }
    }

    private init?(_ row: any StoreRow) {
        guard let address = deviceAddress(row, at: 1) else { return nil }
        self.init(id: row.int64(at: 0), address)
        firstSeen = timestamp(row, at: 3)
        lastSeen = timestamp(row, at: 4)
        lastSample = row.optionalInt64(at: 5)
        counts = IngestResult.Counts(
            stored: Int(row.int64(at: 6)), duplicates: Int(row.int64(at: 7)), conflicts: Int(row.int64(at: 8)))
        lifecycle = LifecycleSnapshot(
            last: transition(row, seq: 13, at: 9), epoch: row.text(at: 15).map(Epoch.init(unchecked:)),
            session: row.optionalInt64(at: 14), evidenceTime: timestamp(row, at: 17))
        lifecycle.storedPhase = row.text(at: 16)
    }
}

/// Reads a transition from the columns `state`, `since`, `previous` and `reason`, or nil if the state is unknown.
func transition(_ row: some StoreRow, seq: Int, at column: Int) -> LifecycleTransition? {
    guard let state = row.text(at: column).flatMap(LifecycleState.init), let since = timestamp(row, at: column + 1)
    else { return nil }
    return LifecycleTransition(
        from: row.text(at: column + 2).flatMap(LifecycleState.init), to: state, since: since,
        reason: row.text(at: column + 3) ?? "", seq: row.int64(at: seq))
}
