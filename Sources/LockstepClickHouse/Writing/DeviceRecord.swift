import LockstepModel
import LockstepStore

/// A row of the view `devices`.
struct DeviceRecord {
    /// The address.
    let address: DeviceAddress
    /// The id in all tables: a hash of the address, so that collectors need not agree about ids.
    let id: Int64
    /// The time of the first message, on the collector's clock.
    var firstSeen: Timestamp?
    /// The time of the last message, on the collector's clock.
    var lastSeen: Timestamp?
    /// The time of the newest sample.
    var lastSample: Int64?
    /// The numbers of stored, duplicate and conflicting samples.
    var counts = IngestResult.Counts()
    /// The life cycle.
    var lifecycle = LifecycleSnapshot()

    /// Creates the record of a device that was never seen.
    init(_ address: DeviceAddress) {
        self.address = address
        id = Self.id(of: address)
    }

    /// Returns the id of a device: 63 bits of a hash of `GROUP/DEVICE`.
    static func id(of address: DeviceAddress) -> Int64 {
        var hash = StableHash()
        hash.combine(address.group.rawValue)
        hash.combine("/")
        hash.combine(address.device.rawValue)
        return Int64(bitPattern: hash.value & UInt64(Int64.max))
    }

    /// Records a message, or a batch.
    mutating func recordMessage(at time: Timestamp) {
        firstSeen = min(firstSeen ?? time, time)
        // Messages are recorded within a minute. A later time shows that the clock was ahead, and has been set back.
        lastSeen = lastSeen.flatMap { $0 - time > 60_000_000 ? nil : max($0, time) } ?? time
    }

    /// Records the batches of a run, and the counts of its samples.
    mutating func record(_ run: SampleRun, _ counts: IngestResult.Counts) {
        self.counts += counts
        if let last = run.samples.times.max() { lastSample = max(lastSample ?? last, last) }
        for batch in run.batches { recordMessage(at: batch.receivedAt) }
    }

    /// Reads a row with the columns ``ClickHouseSchema/deviceColumns``, or returns nil if it is damaged.
    init?(row: [String?]) {
        guard row.count == ClickHouseSchema.deviceColumns.count, let id = row[0].flatMap({ Int64($0) }),
            let group = row[1].flatMap({ GroupID(rawValue: $0) }),
            let device = row[2].flatMap({ DeviceID(rawValue: $0) })
        else { return nil }
        func number(_ column: Int) -> Int64? { row[column].flatMap { Int64($0) } }
        func time(_ column: Int) -> Timestamp? { number(column).map(Timestamp.init(microseconds:)) }
        address = DeviceAddress(group: group, device: device)
        self.id = id
        firstSeen = time(3)
        lastSeen = time(4)
        lastSample = number(5)
        counts = IngestResult.Counts(
            stored: Int(number(6) ?? 0), duplicates: Int(number(7) ?? 0), conflicts: Int(number(8) ?? 0))
        lifecycle = LifecycleSnapshot(
            epoch: row[15].flatMap { Epoch(rawValue: $0) }, session: number(14), evidenceTime: time(17))
        lifecycle.storedPhase = row[16]
        if let state = row[9].flatMap({ LifecycleState(rawValue: $0) }), let since = time(10), let seq = number(13) {
            lifecycle.last = LifecycleTransition(
                from: row[11].flatMap { LifecycleState(rawValue: $0) }, to: state, since: since,
                reason: row[12] ?? "", seq: seq)
        }
    }

    /// Appends the row for the table `received_devices`.
    func append(to rows: inout RowBinary, version: UInt64) {
        rows.append(id)
        rows.append(address.group.rawValue)
        rows.append(address.device.rawValue)
        rows.append(firstSeen?.microseconds)
        rows.append(lastSeen?.microseconds)
        rows.append(lastSample)
        rows.append(Int64(counts.stored))
        rows.append(Int64(counts.duplicates))
        rows.append(Int64(counts.conflicts))
        rows.append(lifecycle.last?.to.rawValue)
        rows.append(lifecycle.last?.since.microseconds)
        rows.append(lifecycle.last?.from?.rawValue)
        rows.append(lifecycle.last?.reason)
        rows.append(lifecycle.last?.seq)
        rows.append(lifecycle.session)
        rows.append(lifecycle.epoch?.rawValue)
        rows.append(lifecycle.storedPhase)
        rows.append(lifecycle.evidenceTime?.microseconds)
        rows.append(version)
        rows.endRow()
    }
}
