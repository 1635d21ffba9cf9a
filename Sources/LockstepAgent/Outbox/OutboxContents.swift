import LockstepModel
import LockstepSQLite

/// The state of an outbox, which changes with a transaction: a change is a copy, which replaces the state when it is on disk.
struct OutboxContents {
    var devices = OutboxDevices()
    /// The size of all bodies in bytes.
    var bytes: Int64 = 0
    /// The highest row given.
    var lastRow: Int64 = 0
    /// The acknowledged batches whose rows are still in the file.
    var rows = AcknowledgedRows()
    var unpublished = UnpublishedBatches()

    /// The watermark: every batch up to this row is acknowledged or dropped.
    var watermark: Int64 { mutating get { devices.lowestRow().map { $0 - 1 } ?? lastRow } }
}

/// The rows of batches that are acknowledged.
///
/// They stay in the file for a while and are deleted together, so that a deletion costs little: most of the freed pages are
/// used again before a checkpoint copies them. Each commit records the watermark, so that acknowledged batches are not sent
/// again after a crash.
struct AcknowledgedRows {
    /// The size of acknowledged bodies in bytes at which their rows are deleted.
    static let deletionSize: Int64 = 64 << 10
    /// The time in µs after which the rows of acknowledged batches are deleted, whatever their size.
    static let deletionDelay: Int64 = 60_000_000

    /// The rows that were not deleted yet.
    private(set) var rows = SequenceSet()
    /// The rows that are kept as the journal, although their batches are acknowledged or dropped.
    private(set) var journaled = SequenceSet()
    private var bytes: Int64 = 0
    /// The time of the first acknowledgement since the last deletion, in µs of the boot clock.
    private var since: Int64?

    init() {}

    /// - Parameter left: the rows that were not deleted in the last run.
    init(left: SequenceSet, journaled: SequenceSet) {
        rows = left
        self.journaled = journaled
        bytes = left.isEmpty ? 0 : Self.deletionSize
    }

    /// - Parameter boot: the current time in µs of the boot clock.
    func isDeletionDue(at boot: Int64) -> Bool {
        guard !rows.isEmpty else { return false }
        return bytes >= Self.deletionSize || since.map { boot - $0 >= Self.deletionDelay } ?? true
    }

    /// - Parameters:
    ///   - bytes: the size of their bodies in bytes.
    ///   - boot: the current time in µs of the boot clock.
    mutating func insert(_ acknowledged: SequenceSet, bytes: Int64, at boot: Int64) {
        guard !acknowledged.isEmpty else { return }
        rows.formUnion(acknowledged)
        self.bytes += bytes
        since = since ?? boot
    }

    /// Records that the row of a dropped batch is kept as part of the journal.
    mutating func keep(_ row: Int64) { journaled.insert(row) }

    /// Records that the rows were deleted, or kept as the journal.
    /// - Parameter watermark: every batch up to this row is acknowledged or dropped; nil if there is no journal.
    mutating func didDelete(keepingJournalTo watermark: Int64?) {
        if let watermark {
            journaled.formUnion(rows)
            // One range for all batches up to the watermark, even if rows between them were deleted.
            if watermark >= 1 { journaled.insert(1...watermark) }
        }
        rows = SequenceSet()
        bytes = 0
        since = nil
    }
}

/// The rows of the batches of current epochs that were never published, so that no collector can have stored them.
///
/// The set is saved for the next start. While backlog is being published, an empty set is saved: a saved set that
/// contains published batches would make a correct acknowledgement look wrong.
struct UnpublishedBatches {
    var rows = SequenceSet()
    /// The set in the outbox file.
    private(set) var saved = SequenceSet()
    /// Whether backlog is being published.
    var isSending = false

    init(saved: SequenceSet = SequenceSet()) {
        rows = saved
        self.saved = saved
    }

    var toSave: SequenceSet { isSending ? SequenceSet() : rows }
    var isUnsaved: Bool { saved != toSave }
    mutating func didSave() { saved = toSave }
}

extension OutboxSQL {
    /// Reads the state of the file, and which epochs have neither batches nor dropped ones.
    /// - Parameter keepsEpochs: whether the epochs of the last run continue.
    func contents(keepsEpochs: Bool) throws -> (OutboxContents, unusedEpochs: [Int64]) {
        var contents = OutboxContents()
        var currentEpochs: [Int64: Epoch] = [:]
        var indexes: [Int64: Int] = [:]
        try each("SELECT id, group_name, device, epoch, previous_epoch, dropped_samples FROM devices ORDER BY id") {
            row in
            var device = OutboxDevice(
                address: DeviceAddress(
                    group: try GroupID(validating: row.text(at: 1) ?? ""),
                    device: try DeviceID(validating: row.text(at: 2) ?? "")))
            device.id = row.int64(at: 0)
            let epoch = try row.text(at: 3).map { try Epoch(validating: $0) }
            device.previousEpoch = keepsEpochs ? try row.text(at: 4).map { try Epoch(validating: $0) } : epoch
            device.droppedSamples = row.int64(at: 5)
            indexes[row.int64(at: 0)] = contents.devices.add(device)
            if keepsEpochs { currentEpochs[row.int64(at: 0)] = epoch }
        }
        var unused: [Int64] = []
        try each("SELECT id, device, epoch, seq FROM epochs ORDER BY id") { row in
            guard let index = indexes[row.int64(at: 1)] else { return }
            var epoch = OutboxDevice.EpochRows(
                id: row.int64(at: 0), epoch: try Epoch(validating: row.text(at: 2) ?? ""))
            epoch.lastSeq = row.int64(at: 3)
            contents.devices.add(epoch, to: index, isCurrent: currentEpochs[row.int64(at: 1)] == epoch.epoch)
            unused.append(epoch.id)
        }
        try readRows(into: &contents)
        try each("SELECT epoch, first, last FROM dropped") { row in
            contents.devices.update(epochID: row.int64(at: 0)) {
                $0.dropped.insert(row.int64(at: 1)...row.int64(at: 2))
            }
        }
        if keepsEpochs { try readProgress(into: &contents) }
        var used: Set<Int64> = []
        for index in contents.devices.indices {
            let device = contents.devices[index]
            for epoch in device.epochs
            where !epoch.pending.isEmpty || !epoch.dropped.isEmpty || epoch.id == device.current?.id {
                used.insert(epoch.id)
            }
        }
        // The highest id must not be given again.
        return (contents, unused.dropLast().filter { !used.contains($0) })
    }

    private func readRows(into contents: inout OutboxContents) throws {
        let (last, done) =
            try first("SELECT id, done FROM entries ORDER BY id DESC LIMIT 1") { ($0.int64(at: 0), $0.int64(at: 1)) }
            ?? (0, 0)
        contents.lastRow = max(last, try number("last"))
        var (left, journaled) = (SequenceSet(), SequenceSet())
        try each("SELECT first, last FROM journaled") { journaled.insert($0.int64(at: 0)...$0.int64(at: 1)) }
        try each(
            "SELECT id, epoch, seq, length(body) FROM entries WHERE id > ? ORDER BY id", .integer(journaled.watermark)
        ) { entry in
            let (row, seq) = (entry.int64(at: 0), entry.int64(at: 2))
            let isPending = row > done && !journaled.contains(row)
            contents.devices.update(epochID: entry.int64(at: 1)) { epoch in
                if isPending { epoch.insert(seq, row: row) } else { epoch.lastSeq = max(epoch.lastSeq, seq) }
            }
            if isPending { contents.bytes += entry.int64(at: 3) } else if !journaled.contains(row) { left.insert(row) }
        }
        contents.rows = AcknowledgedRows(left: left, journaled: journaled)
    }

    /// Reads the newest times and the unpublished batches of the current epochs.
    private func readProgress(into contents: inout OutboxContents) throws {
        var pending = SequenceSet()
        for index in contents.devices.indices {
            guard let epoch = contents.devices[index].current else { continue }
            pending.formUnion(epoch.rows(of: epoch.pending))
            try each(
                """
                SELECT stream, max(time) FROM (
                    SELECT stream, time FROM newest WHERE device = ?
                    UNION ALL SELECT stream, newest FROM entries WHERE epoch = ? AND id > ?)
                GROUP BY stream
                """, .integer(contents.devices[index].id), .integer(epoch.id),
                .integer(contents.rows.journaled.watermark)
            ) { contents.devices[index].newest[$0.text(at: 0) ?? ""] = $0.int64(at: 1) }
        }
        // The newest batch has the newest set, unless the set was saved after it.
        let newest = try first(
            "SELECT unpublished FROM entries WHERE id = ? AND id > ?", .integer(contents.lastRow),
            .integer(try number("saved"))
        ) { $0.text(at: 0) ?? "" }
        var rows = SequenceSet()
        for range in try (newest ?? text("unpublished") ?? "").split(separator: " ") {
            let ends = range.split(separator: "-").compactMap { Int64($0) }
            if let first = ends.first, let last = ends.last, first <= last { rows.insert(first...last) }
        }
        // The commit that saved the set may also have dropped some of its batches. Exclude them: the collector
        // acknowledges dropped batches, too, so their acknowledgement does not contradict this outbox.
        contents.unpublished = UnpublishedBatches(saved: rows.intersection(pending))
    }
}
