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

    /// Returns whether the rows should be deleted.
    /// - Parameter boot: the current time in µs of the boot clock.
    func isDeletionDue(at boot: Int64) -> Bool {
        guard !rows.isEmpty else { return false }
        return bytes >= Self.deletionSize || since.map { boot - $0 >= Self.deletionDelay } ?? true
    }

    /// Adds rows.
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
    /// The rows of the batches.
    var rows = SequenceSet()
    /// The set in the outbox file.
    private(set) var saved = SequenceSet()
    /// Whether backlog is being published.
    var isSending = false

    init(saved: SequenceSet = SequenceSet()) {
        rows = saved
        self.saved = saved
    }

    /// The set to write to the outbox file.
    var toSave: SequenceSet { isSending ? SequenceSet() : rows }
    var isUnsaved: Bool { saved != toSave }
    mutating func didSave() { saved = toSave }
}

extension OutboxStatements {
    /// Reads the state of the file, and which epochs have neither batches nor dropped ones.
    /// - Parameter keepsEpochs: whether the epochs of the last run continue.
    func contents(keepsEpochs: Bool) throws -> (OutboxContents, unusedEpochs: [Int64]) {
        var contents = OutboxContents()
        var indexes: [Int64: Int] = [:]
        var lastEpochs: [Int: Epoch] = [:]
        let devices = try database.prepare(
            "SELECT id, group_name, device, epoch, previous_epoch, dropped_samples FROM devices ORDER BY id")
        while try devices.step() {
            var device = OutboxDevice(
                address: DeviceAddress(
                    group: try GroupID(validating: devices.text(at: 1) ?? ""),
                    device: try DeviceID(validating: devices.text(at: 2) ?? "")))
            device.id = devices.int64(at: 0)
            let epoch = try devices.text(at: 3).map { try Epoch(validating: $0) }
            device.previousEpoch = keepsEpochs ? try devices.text(at: 4).map { try Epoch(validating: $0) } : epoch
            device.droppedSamples = devices.int64(at: 5)
            let index = contents.devices.add(device)
            indexes[devices.int64(at: 0)] = index
            if keepsEpochs { lastEpochs[index] = epoch }
        }
        var epochs: [Int64] = []
        let rows = try database.prepare("SELECT id, device, epoch, seq FROM epochs ORDER BY id")
        while try rows.step() {
            guard let index = indexes[rows.int64(at: 1)] else { continue }
            var epoch = OutboxDevice.EpochRows(
                id: rows.int64(at: 0), epoch: try Epoch(validating: rows.text(at: 2) ?? ""))
            epoch.lastSeq = rows.int64(at: 3)
            contents.devices.add(epoch, to: index, isCurrent: lastEpochs[index] == epoch.epoch)
            epochs.append(epoch.id)
        }
        try readRows(into: &contents)
        let dropped = try database.prepare("SELECT epoch, first, last FROM dropped")
        while try dropped.step() {
            contents.devices.update(epochID: dropped.int64(at: 0)) {
                $0.dropped.insert(dropped.int64(at: 1)...dropped.int64(at: 2))
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
        return (contents, epochs.dropLast().filter { !used.contains($0) })
    }

    private func readRows(into contents: inout OutboxContents) throws {
        let done = try database.integer("SELECT done FROM entries ORDER BY id DESC LIMIT 1")
        let ranges = try database.prepare("SELECT first, last FROM journaled")
        var journaled = SequenceSet()
        while try ranges.step() { journaled.insert(ranges.int64(at: 0)...ranges.int64(at: 1)) }
        var left = SequenceSet()
        contents.lastRow = try max(meta("last"), database.integer("SELECT ifnull(max(id), 0) FROM entries"))
        let query = try database.prepare(
            "SELECT id, epoch, seq, length(body) FROM entries WHERE id > \(journaled.watermark) ORDER BY id")
        while try query.step() {
            let (row, seq) = (query.int64(at: 0), query.int64(at: 2))
            let isPending = row > done && !journaled.contains(row)
            contents.devices.update(epochID: query.int64(at: 1)) { epoch in
                if isPending { epoch.insert(seq, row: row) } else { epoch.lastSeq = max(epoch.lastSeq, seq) }
            }
            if isPending {
                contents.bytes += query.int64(at: 3)
            } else if !journaled.contains(row) {
                left.insert(row)
            }
        }
        contents.rows = AcknowledgedRows(left: left, journaled: journaled)
    }

    /// Reads the newest times and the unpublished batches of the current epochs.
    private func readProgress(into contents: inout OutboxContents) throws {
        var pending = SequenceSet()
        for index in contents.devices.indices {
            guard let id = contents.devices[index].id, let epoch = contents.devices[index].current else { continue }
            pending.formUnion(epoch.rows(of: epoch.pending))
            let query = try database.prepare(
                """
                SELECT stream, max(time) FROM (
                    SELECT stream, time FROM newest WHERE device = ?
                    UNION ALL SELECT stream, newest FROM entries WHERE epoch = ? AND id > ?)
                GROUP BY stream
                """)
            try query.bind(id, at: 1)
            try query.bind(epoch.id, at: 2)
            try query.bind(contents.rows.journaled.watermark, at: 3)
            while try query.step() { contents.devices[index].newest[query.text(at: 0) ?? ""] = query.int64(at: 1) }
        }
        // The newest batch has the newest set, unless the set was saved after it.
        let saved = try meta("saved")
        let newest = try database.prepare("SELECT id, unpublished FROM entries ORDER BY id DESC LIMIT 1")
        var text = try text("unpublished") ?? ""
        if try newest.step(), newest.int64(at: 0) > saved { text = newest.text(at: 1) ?? "" }
        var rows = SequenceSet()
        for range in text.split(separator: " ") {
            let ends = range.split(separator: "-").compactMap { Int64($0) }
            if let first = ends.first, let last = ends.last, first <= last { rows.insert(first...last) }
        }
        // The commit that saved the set may also have dropped some of its batches. Exclude them: the collector
        // acknowledges dropped batches, too, so their acknowledgement does not contradict this outbox.
        contents.unpublished = UnpublishedBatches(saved: rows.intersection(pending))
    }
}
