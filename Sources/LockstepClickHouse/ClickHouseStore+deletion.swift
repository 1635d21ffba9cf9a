import LockstepModel
import LockstepStore

// What people have deleted. A request is inserted like received samples, and from then on no sample of its times is
// inserted. The rows are deleted by mutations of one table after the other: unlike lightweight deletes, they remove the rows
// from the disk, and every version has them. A request that is not done is begun again when the store is opened.

/// A row of `received_deletions`.
struct DeletionRecord {
    let stored: StoredDeletion
    let deviceID: Int64

    static let columns = [
        "request", "device_id", "stream", "from_t", "to_t", "at", "who", "reason", "secure", "count", "refused", "done",
    ]

    /// Returns the rows of a device, or of all, in order of their requests.
    static func readAll(
        _ client: ClickHouseClient, of device: Int64? = nil, addresses: [Int64: DeviceAddress]
    ) throws(StoreError) -> [DeletionRecord] {
        let condition = device.map { " WHERE device_id = \($0)" } ?? ""
        return try client.rows(
            "SELECT \(columns.joined(separator: ", ")) FROM deletions\(condition) ORDER BY at, request"
        )
        .compactMap { row in
            func number(_ column: Int) -> Int64? { row[column].flatMap { Int64($0) } }
            guard let id = row[0], let device = number(1), let address = addresses[device], let from = number(3),
                let to = number(4), from < to, let at = number(5)
            else { return nil }
            let deletion = Deletion(
                id: id, device: address, stream: row[2], times: from..<to, at: Timestamp(microseconds: at),
                who: row[6], reason: row[7], isSecure: number(8) == 1)
            return DeletionRecord(
                stored: StoredDeletion(
                    deletion: deletion, count: number(9) ?? 0, refused: number(10) ?? 0,
                    done: number(11).map(Timestamp.init(microseconds:))), deviceID: device)
        }
    }

    func with(count: Int64? = nil, refused: Int64 = 0, done: Timestamp? = nil) -> DeletionRecord {
        DeletionRecord(
            stored: StoredDeletion(
                deletion: stored.deletion, count: count ?? stored.count, refused: stored.refused + refused,
                done: done ?? stored.done), deviceID: deviceID)
    }

    /// Returns the condition of the rows of its times, in SQL.
    func condition(in table: DeletionTable) -> String {
        let times = stored.deletion.times
        let first = table.hasMinutes ? Minute.start(of: times.lowerBound) : times.lowerBound
        return "device_id = \(deviceID) AND t >= \(first) AND t < \(times.upperBound)"
    }

    func append(to rows: inout RowBinary, version: UInt64) {
        let deletion = stored.deletion
        rows.append(deletion.id)
        rows.append(deviceID)
        rows.append(deletion.stream)
        rows.append(deletion.times.lowerBound)
        rows.append(deletion.times.upperBound)
        rows.append(deletion.at.microseconds)
        rows.append(deletion.who)
        rows.append(deletion.reason)
        rows.append(deletion.isSecure ? 1 as Int64 : 0)
        rows.append(stored.count)
        rows.append(stored.refused)
        rows.append(stored.done?.microseconds)
        rows.append(version)
        rows.endRow()
    }
}

/// A table with rows that a deletion deletes.
struct DeletionTable: Hashable {
    let name: String
    /// Whether its rows are summaries of minutes. They have the times of the starts of these.
    var hasMinutes = false
}

/// The deletion that is under way.
struct DeletionProgress {
    let request: String
    /// The tables with rows to delete, the current one first; nil while they are not known.
    var tables: [DeletionTable]?
    /// Whether the mutation of the current table was begun.
    var isMutating = false
    /// The time of the next step.
    var due: ContinuousClock.Instant
}

extension ClickHouseStore {
    /// The time between two looks at a mutation.
    private static let mutationInterval = Duration.milliseconds(200)
    /// The time after which a deletion that has failed is tried again.
    private static let retryInterval = Duration.seconds(60)

    /// Reads what people have deleted, for devices that are registered.
    func readDeletions() throws(StoreError) {
        deletions = try DeletionRecord.readAll(client, addresses: addresses)
        deletionIndexes = Dictionary(grouping: deletions.indices) { deletions[$0].deviceID }
        deletion = nil
    }

    /// Adds the requests of a group, before its samples.
    func addDeletions(of group: IngestGroup) throws(StoreError) {
        for request in group.deletions {
            let known = deletions.map(\.stored.deletion.id) + transaction.deletions.keys
            guard !known.contains(request.id) else { continue }
            transaction.deletions[request.id] = DeletionRecord(
                stored: StoredDeletion(
                    deletion: request, count: 0, refused: 0, done: request.onlyRefuses ? request.at : nil),
                deviceID: devices[try change(request.device)].id)
        }
    }

    /// Returns the deletions of a device that cover a stream.
    func deletions(of stream: SensorStream, device: Int64) -> [Deletion] {
        guard !deletions.isEmpty || !transaction.deletions.isEmpty else { return [] }
        let stored = (deletionIndexes[device] ?? []).map { deletions[$0].stored.deletion }
        let added = transaction.deletions.values.filter { $0.deviceID == device }.map(\.stored.deletion)
        return (stored + added).filter { $0.covers(stream) }
    }

    /// Counts a sample that is not inserted.
    func countRefused(_ deletion: Deletion) {
        guard
            let record = transaction.deletions[deletion.id]
                ?? deletions.first(where: { $0.stored.deletion.id == deletion.id })
        else { return }
        transaction.deletions[deletion.id] = record.with(refused: 1)
    }

    func write(_ records: some Collection<DeletionRecord>) throws(StoreError) {
        guard !records.isEmpty else { return }
        let version = nextVersion()
        var rows = RowBinary()
        for record in records { record.append(to: &rows, version: version) }
        try insert(rows, into: "received_deletions", DeletionRecord.columns + ["version"])
    }

    /// Keeps what a commit has written.
    func adopt(_ changed: [String: DeletionRecord]) {
        for (id, record) in changed {
            if let index = deletions.firstIndex(where: { $0.stored.deletion.id == id }) {
                deletions[index] = record
            } else {
                deletionIndexes[record.deviceID, default: []].append(deletions.count)
                deletions.append(record)
            }
        }
    }

    /// Whether a step of a deletion is due.
    var isDeletionDue: Bool {
        if let deletion { return deletion.due <= .now }
        return deletions.contains { $0.stored.done == nil }
    }

    /// Begins the first deletion that is not done, or goes on with it.
    func performDeletion() {
        do { try stepDeletion() } catch {
            options.reportMaintenanceProblem?("cannot delete samples", "\(error)")
            deletion?.due = .now + Self.retryInterval
            deletion?.isMutating = false
        }
    }

    private func stepDeletion() throws(StoreError) {
        guard let index = deletions.firstIndex(where: { $0.stored.done == nil }) else {
            deletion = nil
            return
        }
        let record = deletions[index]
        guard var progress = deletion, progress.request == record.stored.deletion.id,
            let remaining = progress.tables
        else {
            deletion = DeletionProgress(request: record.stored.deletion.id, tables: nil, due: .now)
            let (tables, count) = try tables(of: record)
            let counted = record.with(count: max(count, record.stored.count))
            try write([counted])
            deletions[index] = counted
            deletion = DeletionProgress(request: record.stored.deletion.id, tables: tables, due: .now)
            return
        }
        guard let table = remaining.first else {
            let done = record.with(done: Moment.now().wall)
            try write([done])
            deletions[index] = done
            if let device = deviceIndexes[record.stored.deletion.device] {
                devices[device].counts.stored = max(0, devices[device].counts.stored - Int(record.stored.count))
                dirtyDevices.insert(device)
            }
            deletion = nil
            return
        }
        if !progress.isMutating {
            try client.execute("ALTER TABLE \(table.name) DELETE WHERE \(record.condition(in: table))")
            progress.isMutating = true
        } else if try !client.isDeleting(from: table.name) {
            progress.isMutating = false
            progress.tables = Array(remaining.dropFirst())
        }
        progress.due = .now + (progress.isMutating ? Self.mutationInterval : .zero)
        deletion = progress
    }

    /// Returns the tables with rows of a deletion, and the number of its samples. Summaries come after the samples: of a
    /// minute without one, everything is computed from the samples.
    func tables(of record: DeletionRecord) throws(StoreError) -> (tables: [DeletionTable], samples: Int64) {
        let deletion = record.stored.deletion
        var candidates: [(table: DeletionTable, isSamples: Bool)] = []
        let covered = try StreamDefinition.catalog(client).streams.filter(deletion.covers)
        candidates += covered.map { (DeletionTable(name: $0.receivedTable), true) }
        candidates += covered.map { (DeletionTable(name: $0.minuteTable, hasMinutes: true), false) }
        for kind in RefinedKind.allCases where deletion.stream.map({ kind.sources.contains($0) }) ?? true {
            candidates.append((DeletionTable(name: kind.table), false))
        }
        if deletion.isWhole {
            candidates += ["received_clocks", "received_events"].map { (DeletionTable(name: $0), false) }
        }
        var (tables, samples): ([DeletionTable], Int64) = ([], 0)
        // Minutes may be summarised while their samples are being deleted.
        var minutes: Set<String> = []
        for (table, isSamples) in candidates {
            guard try client.rows("EXISTS TABLE \(table.name)").first?[0] == "1" else { continue }
            let rows = try client.rows("SELECT uniqExact(t) FROM \(table.name) WHERE \(record.condition(in: table))")
            guard let count = rows.first?[0].flatMap({ Int64($0) }), count > 0 || minutes.contains(table.name) else {
                continue
            }
            tables.append(table)
            guard isSamples else { continue }
            samples += count
            if let stream = covered.first(where: { $0.receivedTable == table.name }) {
                minutes.insert(stream.minuteTable)
            }
        }
        return (tables, samples)
    }
}
