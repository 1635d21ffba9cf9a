public import LockstepModel
import LockstepSQLite
public import LockstepWire

/// A durable queue of the batches of one or many devices, in one SQLite file. An agent has one device, a gateway many.
///
/// Invariants:
/// - **Accepted.** A batch is accepted when ``accept(_:removing:at:also:)`` returns it: its body and its number are in a
///   transaction that was synced to the disk. One transaction accepts the batches of all devices. Whatever fails, the outbox
///   is as before, on disk and in memory: all state that a transaction changes is in ``OutboxContents``, of which the
///   transaction changes a copy.
/// - **Rows.** Batches have rows in the order of acceptance, over all devices, and no row is used twice. Epoch and number stay
///   outside of the body: the head of the payload is written when the batch is published.
/// - **Numbers.** Within (device, epoch), numbers begin at 1, have no gaps, and none is given to two batches: a collector
///   takes a number that it knows as stored. An agent's epoch continues over restarts; its highest number is that of the newest
///   row, or is saved before that row is deleted. A gateway's devices begin an epoch with their first batch after each start.
/// - **Epochs.** Besides, an agent begins an epoch when its clock was set or is earlier than its samples (times increase within
///   an epoch), for another device, and when an acknowledgement lists a batch that was never published: then the file is an
///   older copy, whose numbers were given before. A gateway cannot have that case.
/// - **Pending.** A batch is pending until it is acknowledged or dropped. Only the caller, who knows what a collector has
///   committed, acknowledges.
/// - **Deleted.** The rows of acknowledged batches are deleted later, many at a time. The last row of each commit records the
///   watermark, below which nothing is pending. After a crash, acknowledged batches above it are pending again and are sent
///   twice, which a collector notices. Rows of the journal stay.
/// - **Dropped.** Above the limits the oldest batches of all devices are dropped, and recorded as such for ever: nobody may wait
///   for them. If the disk is full, acknowledged rows are deleted first, with the space of ``ReservedSpace``. Then an agent
///   drops the oldest batches until the new ones fit. A gateway does not: its senders keep what it does not take.
/// - **File.** Before each write, ``OutboxFile`` checks that the path leads to the open file. A file that was removed or moved
///   is written again with all batches; another file is not overwritten, and nothing is accepted.
///
/// Use it from one thread only.
public final class Outbox {
    /// Writes to the owner's own tables in the transaction of a commit.
    /// - Parameter id: returns the id of a device in the file, which it then has.
    public typealias TableWriter = (_ sql: OutboxSQL, _ id: (Int) throws -> Int64) throws -> Void

    /// The maximum number of rows that one transaction deletes, so that it blocks the program for a short time only.
    static let maxDeletions: Int64 = 4096
    /// The maximum length of the text that records the unpublished batches in a row.
    private static let maxRecordedLength = 200

    /// How the clock had changed since the last run, if an agent therefore began an epoch.
    public private(set) var clockChange = OutboxClock.Change.steady
    /// The device that the outbox of an agent belonged to before, if it was handed over to another one with this start.
    public private(set) var previousDevice: String?

    private(set) var contents: OutboxContents
    let owner: Owner
    let limits: Limits
    /// Whether new batches are part of the journal.
    let keepsJournal: Bool
    /// Whether the file has batches of the journal.
    private let hasJournal: Bool
    /// The encoding of new batches. Batches in the outbox keep theirs.
    let encoding: BatchEncoding
    private let streams: StreamCatalog
    /// The highest row of the batches whose age is unknown: those of earlier boots of the machine.
    private var lastUndatedRow: Int64

    let file: OutboxFile
    private(set) var sql: OutboxSQL
    /// What was done since the last call of ``takeRestoration()``, because the file was removed or moved.
    private var restoration: OutboxFile.Restoration?
    /// The space that is released when the disk is full.
    let reservedSpace: ReservedSpace
    /// Returns whether the disk has free space in addition to the reserved space. Tests replace it.
    var hasDiskSpace: () -> Bool

    /// Opens the outbox, or creates it.
    /// - Parameters:
    ///   - path: the path of the file. Its folder must exist.
    ///   - owner: the program. A delivered outbox of one agent can be used by another one.
    ///   - limits: the limits above which the oldest batches are dropped.
    ///   - encoding: the encoding of new batches. Batches in the outbox keep theirs.
    ///   - keepsJournal: whether to keep every accepted batch in the file, to verify a store.
    ///   - streams: the streams that batches can belong to.
    ///   - clock: the current state of the clocks.
    ///   - tables: the SQL that creates the owner's own tables in a new file.
    /// - Throws: ``OutboxError`` if the file cannot be opened, if another program uses it, or if it holds batches of
    ///   another device.
    public init(
        path: String, owner: Owner, limits: Limits = Limits(), encoding: BatchEncoding = .json,
        keepsJournal: Bool = false, streams: StreamCatalog = .builtIn, clock: OutboxClock = .now(), tables: String = ""
    ) throws {
        do {
            ReservedSpace.releaseIfFull(realPath(path) + "-ballast")
            file = try OutboxFile(path: path) { try OutboxSchema.open($0, of: owner, tables: tables) }
            let reservedSpace = ReservedSpace(
                path: file.path + "-ballast", maxSize: owner == .gateway ? 16 << 20 : 4 << 20)
            self.reservedSpace = reservedSpace
            hasDiskSpace = { reservedSpace.hasDiskSpace }
            self.owner = owner
            self.limits = limits
            self.encoding = encoding
            self.keepsJournal = keepsJournal
            self.streams = streams
            try Self.limitLog(of: file.database, reservedSpace)
            sql = OutboxSQL(file.database)
            let hasEntries =
                try sql.first("SELECT EXISTS (SELECT * FROM entries WHERE journal)") { $0.int64(at: 0) == 1 } ?? false
            hasJournal = keepsJournal || hasEntries
            lastUndatedRow = try sql.number("undated")
            let unused: [Int64]
            (contents, unused) = try sql.contents(keepsEpochs: owner.keepsEpochs)
            if case .agent(let device) = owner {
                previousDevice = try previousOwner(for: device, hasJournal: hasEntries)
            }
            // The journal has the names of its epochs there.
            try begin(clock, removing: hasEntries ? [] : unused)
            file.hasSameContent = { [unowned self] in try hasSameContent($0) }
        } catch {
            throw OutboxError(path: path, owner: owner, error)
        }
    }

    private func begin(_ clock: OutboxClock, removing unused: [Int64]) throws {
        let lastClock = try sql.text("boot_id").map { (bootID: $0, offset: try sql.number("clock_offset")) }
        try write { contents in
            for id in unused { try sql.run("DELETE FROM epochs WHERE id = ?", .integer(id)) }
            try save(clock)
            if !clock.isSameBoot(as: lastClock) {
                lastUndatedRow = contents.lastRow
                try sql.set("undated", .integer(lastUndatedRow))
            }
            guard case .agent(let device) = owner else { return }
            let index = contents.devices.count > 0 ? 0 : contents.devices.add(OutboxDevice(address: device))
            if previousDevice != nil {
                try handOver(index, to: device, in: &contents)
            } else if contents.devices[index].current == nil {
                try beginEpoch(of: index, in: &contents)
            } else {
                clockChange = clock.change(since: lastClock, newest: contents.devices[index].newest.values.max())
                if clockChange != .steady { try beginEpoch(of: index, in: &contents) }
            }
        }
    }

    private func save(_ clock: OutboxClock) throws {
        try sql.set("boot_id", .text(clock.bootID))
        try sql.set("clock_offset", .integer(clock.offset))
    }

    /// The devices. An index is valid until the program ends.
    public var devices: OutboxDevices { contents.devices }
    /// The size of all bodies in bytes.
    public var bytes: Int64 { contents.bytes }
    /// The path of the file.
    public var path: String { database.path }
    var database: SQLiteDatabase { file.database }

    /// Returns the index of a device. A new one is added; it is saved with its first batch, or by a ``TableWriter``.
    public func index(of address: DeviceAddress) -> Int {
        contents.devices.index(of: address) ?? contents.devices.add(OutboxDevice(address: address))
    }

    // MARK: - Batches

    /// Writes new batches like ``commit(_:removing:at:also:)``. If the disk is full, it first removes acknowledged batches.
    /// Then an agent drops the oldest batches until the new ones fit.
    ///
    /// The file `…-ballast` beside the outbox reserves disk space for this.
    /// - Throws: ``OutboxError``. Nothing was accepted in this case.
    public func accept(
        _ additions: [Addition], removing removed: [Int: [Epoch: SequenceSet]] = [:], at boot: Int64,
        also writeTables: TableWriter? = nil
    ) throws -> Accepted {
        do {
            let (entries, dropped) = try commit(additions, removing: removed, at: boot, also: writeTables)
            // The disk may have space again.
            reservedSpace.restore()
            return Accepted(entries: entries, dropped: dropped)
        } catch let error as OutboxError where error.isFull {
            reservedSpace.remove()
            defer { reservedSpace.restore() }
            limitFile()
            var dropped = try commit([], removing: removed, at: boot).dropped
            try deleteAllAcknowledged()
            guard owner == .gateway else {
                var result = acceptOneByOne(additions, at: boot)
                result.dropped.formUnion(dropped)
                return result
            }
            checkpoint()
            let result = try commit(additions, at: boot, also: writeTables)
            dropped.formUnion(result.dropped)
            return Accepted(entries: result.entries, dropped: dropped, wasDiskFull: true)
        }
    }

    /// Writes each batch in its own transaction, which needs little space in the write-ahead log.
    private func acceptOneByOne(_ additions: [Addition], at boot: Int64) -> Accepted {
        var result = Accepted(unwritten: additions, wasDiskFull: true)
        checkpoint()
        while let addition = result.unwritten.first {
            do {
                let (entries, dropped) = try writeBatches([addition], at: boot)
                result.entries += entries
                result.dropped.formUnion(dropped)
                result.unwritten.removeFirst()
                result.error = nil
            } catch {
                let error = OutboxError(path: path, owner: owner, error)
                result.error = error
                guard error.isFull, let dropped = try? dropOldest(at: boot) else { break }
                result.dropped.formUnion(dropped)
                checkpoint(truncate: true)
            }
        }
        checkpoint()
        result.entries.removeAll(where: result.dropped.contains)
        didAccept(result.entries)
        return result
    }

    /// Numbers, encodes and writes new batches, and removes acknowledged ones, in one durable transaction.
    ///
    /// The rows of removed batches are deleted later, many at a time. Without new batches they are deleted at once.
    /// - Parameters:
    ///   - additions: the samples of the new batches.
    ///   - removed: the acknowledged batches, by the index of the device.
    ///   - boot: the current time in µs of the boot clock.
    ///   - writeTables: writes to the owner's own tables.
    /// - Returns: the batches that were written, and those dropped because of the limits.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func commit(
        _ additions: [Addition], removing removed: [Int: [Epoch: SequenceSet]] = [:], at boot: Int64,
        also writeTables: TableWriter? = nil
    ) throws -> (entries: [Entry], dropped: Dropped) {
        let result = try writeBatches(additions, removing: removed, at: boot, also: writeTables)
        didAccept(result.entries)
        return result
    }

    /// Counts new batches as unpublished until ``didPublish(_:of:)``. Before that, no transaction may save them as such:
    /// they are published at once, without another record.
    private func didAccept(_ entries: [Entry]) {
        guard owner.keepsEpochs else { return }
        for entry in entries {
            guard let row = devices[entry.device].row(of: entry.position) else { continue }
            contents.unpublished.rows.insert(row)
        }
    }

    private func writeBatches(
        _ additions: [Addition], removing removed: [Int: [Epoch: SequenceSet]] = [:], at boot: Int64,
        also writeTables: TableWriter? = nil
    ) throws -> (entries: [Entry], dropped: Dropped) {
        let bodies = additions.map { encoding.encode(Batch(position: nil, samples: $0.samples)) }
        return try write { contents in
            for (device, batches) in removed {
                let rows = contents.devices.remove(batches, of: device)
                let freed = try size(of: rows)
                contents.rows.insert(rows, bytes: freed, at: boot)
                contents.bytes -= freed
            }
            let entries = try insert(additions, bodies, into: &contents, at: boot)
            try writeTables?(sql) { try register($0, in: &contents) }
            let dropped = try drop(above: limits.bytes, from: &contents, at: boot)
            let hasDropped = !dropped.batches.isEmpty
            if hasDropped || additions.isEmpty || contents.rows.isDeletionDue(at: boot) {
                // If the newest batch was dropped, no row records which batches are acknowledged.
                try deleteAcknowledged(from: &contents, limit: hasDropped ? .max : Self.maxDeletions)
            }
            if additions.isEmpty, contents.unpublished.isUnsaved { try saveState(&contents) }
            return (hasDropped ? entries.filter { !dropped.contains($0) } : entries, dropped)
        }
    }

    /// Returns a batch, or nil if it is no longer in the outbox.
    /// - Throws: ``OutboxError``.
    public func entry(at position: BatchPosition, of device: Int = 0) throws -> Entry? {
        guard let row = devices[device].row(of: position) else { return nil }
        do {
            // The settings may have changed since the batch was written, so that its stream is no longer declared.
            let found = try sql.first("SELECT stream, body FROM entries WHERE id = ?", .integer(row)) { row in
                row.text(at: 0).flatMap(streams.reference(named:)).map {
                    Entry(device: device, position: position, stream: $0, body: row.bytes(at: 1) ?? [])
                }
            }
            return found ?? nil
        } catch {
            throw OutboxError(path: path, owner: owner, error)
        }
    }

    private func insert(
        _ additions: [Addition], _ bodies: [[UInt8]], into contents: inout OutboxContents, at boot: Int64
    ) throws -> [Entry] {
        guard !additions.isEmpty else { return [] }
        let last = contents.lastRow + Int64(additions.count)
        let watermark = contents.watermark
        var unpublished = contents.unpublished.toSave
        if unpublished.text.utf8.count > Self.maxRecordedLength {
            try save(unpublished: unpublished, last: last)
            unpublished = SequenceSet()
        }
        contents.unpublished.didSave()
        var entries: [Entry] = []
        entries.reserveCapacity(additions.count)
        for (addition, body) in zip(additions, bodies) {
            let (device, samples) = (addition.device, addition.samples)
            _ = try register(device, in: &contents)
            if contents.devices[device].current == nil { try beginEpoch(of: device, in: &contents) }
            contents.lastRow += 1
            let row = contents.lastRow
            let (position, epochID) = contents.devices.append(row: row, to: device)
            let entry = Entry(
                device: device, position: position, stream: samples.stream, body: body, isLate: addition.isLate)
            try sql.run(
                """
                INSERT INTO entries (id, epoch, seq, stream, samples, newest, boot, journal, done, unpublished, body)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                .integer(row), .integer(epochID), .integer(position.seq), .text(samples.stream.name),
                .integer(Int64(samples.count)), .integer(samples.times.last ?? 0), .integer(boot),
                .integer(keepsJournal ? 1 : 0), .integer(row == last ? watermark : nil),
                .text(row == last && !unpublished.isEmpty ? unpublished.text : nil), .blob(body))
            contents.bytes += Int64(body.count)
            entries.append(entry)
            if owner.keepsEpochs, let time = samples.times.last {
                contents.devices[device].newest[samples.stream.name, default: time].formMaximum(time)
            }
        }
        return entries
    }

    // MARK: - Drops and deletions

    /// Deletes the oldest part of the journal or, if there is none, drops the oldest eighth of the outbox, so that the
    /// next batches fit without further drops.
    /// - Returns: the dropped batches, or nil if the file has no batches.
    private func dropOldest(at boot: Int64) throws -> Dropped? {
        for range in contents.rows.journaled.ranges {
            let deleted = try sql.run(
                """
                DELETE FROM entries WHERE id IN (
                    SELECT id FROM entries WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 256)
                """, .integer(range.lowerBound), .integer(range.upperBound))
            if deleted > 0 { return Dropped() }
        }
        guard bytes > 0 else { return nil }
        let limit = max(0, bytes - max(bytes / 8, 65_536))
        // Their rows do not stay in the journal either.
        return try write { try drop(above: limit, from: &$0, keepsJournal: false, at: boot) }
    }

    /// Drops the oldest batches above the limits.
    /// - Parameter keepsJournal: whether to keep their rows in the journal.
    private func drop(
        above limit: Int64, from contents: inout OutboxContents, keepsJournal: Bool = true, at boot: Int64
    ) throws -> Dropped {
        var dropped = Dropped()
        guard contents.bytes > limit || limits.age < .max else { return dropped }
        var last = contents.watermark
        while let row = try next(after: last) {
            last = row.id
            guard let (device, position) = contents.devices.pendingBatch(epochID: row.epochID, seq: row.seq) else {
                continue
            }
            let isTooOld = row.id > lastUndatedRow && boot - row.boot > limits.age
            guard contents.bytes > limit || isTooOld else { break }
            let deleted = try sql.run(
                "DELETE FROM entries WHERE id = ? AND NOT (journal AND ?)", .integer(row.id),
                .integer(keepsJournal ? 1 : 0))
            if deleted == 0 { contents.rows.keep(row.id) }
            if try sql.run(
                "UPDATE dropped SET last = ?2 WHERE epoch = ?1 AND last = ?2 - 1", .integer(row.epochID),
                .integer(row.seq)) == 0
            {
                try sql.run(
                    "INSERT INTO dropped (epoch, first, last) VALUES (?1, ?2, ?2)", .integer(row.epochID),
                    .integer(row.seq))
            }
            if contents.bytes <= limit { dropped.agedSamples += row.samples }
            contents.bytes -= row.bytes
            contents.devices.drop(position, of: device, samples: row.samples)
            contents.unpublished.rows.remove(row.id)
            dropped.batches[device, default: [:]].insert(position)
            dropped.samples += row.samples
        }
        guard !dropped.batches.isEmpty else { return dropped }
        if hasJournal { try save(journaled: contents.rows.journaled) }
        for device in dropped.batches.keys { try save(contents.devices[device]) }
        try saveState(&contents)
        return dropped
    }

    /// Deletes the rows of all acknowledged batches, in transactions that need little space in the write-ahead log.
    private func deleteAllAcknowledged() throws {
        while !contents.rows.rows.isEmpty {
            try write { try deleteAcknowledged(from: &$0) }
            checkpoint()
        }
    }

    /// Deletes the rows of acknowledged batches, except for those of the journal.
    private func deleteAcknowledged(
        from contents: inout OutboxContents, limit: Int64 = maxDeletions
    ) throws {
        guard !contents.rows.rows.isEmpty else { return }
        var left = limit
        for range in contents.rows.rows.ranges where left > 0 {
            let deleted = try sql.run(
                """
                DELETE FROM entries WHERE id IN (
                    SELECT id FROM entries WHERE id BETWEEN ? AND ? AND NOT journal ORDER BY id LIMIT ?)
                """, .integer(range.lowerBound), .integer(range.upperBound), .integer(left))
            left -= Int64(deleted)
        }
        if left > 0 {
            contents.rows.didDelete(keepingJournalTo: hasJournal ? contents.watermark : nil)
            if hasJournal { try save(journaled: contents.rows.journaled) }
        }
        // The newest row, which recorded the state, may be among the deleted ones.
        try saveState(&contents)
    }

    /// Saves the state that the newest row records otherwise.
    private func saveState(_ contents: inout OutboxContents) throws {
        try sql.set("last", .integer(contents.lastRow))
        guard owner.keepsEpochs else { return }
        for index in contents.devices.indices {
            guard let id = contents.devices[index].id, let epoch = contents.devices[index].current else { continue }
            try sql.run("UPDATE epochs SET seq = ? WHERE id = ?", .integer(epoch.lastSeq), .integer(epoch.id))
            for (stream, time) in contents.devices[index].newest {
                try sql.run(
                    "INSERT OR REPLACE INTO newest (device, stream, time) VALUES (?, ?, ?)", .integer(id),
                    .text(stream), .integer(time))
            }
        }
        try save(unpublished: contents.unpublished.toSave, last: contents.lastRow)
        contents.unpublished.didSave()
    }

    private func save(unpublished rows: SequenceSet, last: Int64) throws {
        try sql.set("unpublished", .text(rows.text))
        try sql.set("saved", .integer(last))
    }

    private func save(journaled rows: SequenceSet) throws {
        try sql.run("DELETE FROM journaled")
        for range in rows.ranges {
            try sql.run(
                "INSERT INTO journaled (first, last) VALUES (?, ?)", .integer(range.lowerBound),
                .integer(range.upperBound))
        }
    }

    /// Returns the first batch after a row.
    private func next(
        after row: Int64
    ) throws -> (id: Int64, epochID: Int64, seq: Int64, samples: Int64, boot: Int64, bytes: Int64)? {
        try sql.first(
            "SELECT id, epoch, seq, samples, boot, length(body) FROM entries WHERE id > ? ORDER BY id LIMIT 1",
            .integer(row)
        ) { row in
            (
                row.int64(at: 0), row.int64(at: 1), row.int64(at: 2), row.int64(at: 3), row.int64(at: 4),
                row.int64(at: 5)
            )
        }
    }

    /// Returns the size of the bodies of batches in bytes.
    private func size(of rows: SequenceSet) throws -> Int64 {
        var size: Int64 = 0
        for range in rows.ranges {
            let sum = try sql.first(
                "SELECT sum(length(body)) FROM entries WHERE id BETWEEN ? AND ?", .integer(range.lowerBound),
                .integer(range.upperBound)
            ) { $0.int64(at: 0) }
            size += sum ?? 0
        }
        return size
    }

    // MARK: - Epochs

    /// Starts a new epoch of a device, because the clock was set.
    /// - Parameter clock: the current state of the clocks.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func startEpoch(of device: Int = 0, clock: OutboxClock = .now()) throws {
        try write { contents in
            try beginEpoch(of: device, in: &contents)
            try save(clock)
        }
    }

    /// Begins an epoch, which may be the first one of the device.
    /// - Parameter continuesTimes: whether the time line of the epoch before continues.
    func beginEpoch(of index: Int, in contents: inout OutboxContents, continuesTimes: Bool = false) throws {
        _ = try register(index, in: &contents)
        if owner.keepsEpochs {
            if let current = contents.devices[index].current {
                contents.unpublished.rows.subtract(current.rows(of: current.pending))
            }
            try sql.run("DELETE FROM newest WHERE device = ?", .integer(contents.devices[index].id))
            if !continuesTimes { contents.devices[index].newest = [:] }
        }
        let epoch = Epoch.random()
        try sql.run(
            "INSERT INTO epochs (device, epoch) VALUES (?, ?)", .integer(contents.devices[index].id),
            .text(epoch.rawValue))
        let rows = OutboxDevice.EpochRows(id: database.lastInsertRowID, epoch: epoch)
        contents.devices.add(rows, to: index, isCurrent: true)
        try save(contents.devices[index])
        if owner.keepsEpochs { try saveState(&contents) }
    }

    /// Writes a device, unless it is already in the file.
    /// - Returns: its id.
    private func register(_ index: Int, in contents: inout OutboxContents) throws -> Int64 {
        if let id = contents.devices[index].id { return id }
        let address = contents.devices[index].address
        try sql.run(
            "INSERT INTO devices (group_name, device) VALUES (?, ?)", .text(address.group.rawValue),
            .text(address.device.rawValue))
        contents.devices[index].id = database.lastInsertRowID
        return database.lastInsertRowID
    }

    func save(_ device: OutboxDevice) throws {
        try sql.run(
            "UPDATE devices SET group_name = ?, device = ?, epoch = ?, previous_epoch = ?, dropped_samples = ? WHERE id = ?",
            .text(device.address.group.rawValue), .text(device.address.device.rawValue),
            .text((device.epoch ?? device.previousEpoch)?.rawValue),
            .text(device.epoch == nil ? nil : device.previousEpoch?.rawValue), .integer(device.droppedSamples),
            .integer(device.id))
    }

    /// Returns whether an acknowledgement lists batches of a device that this outbox never published.
    public func isOlder(than ack: Acknowledgement, of device: Int = 0) -> Bool {
        guard owner.keepsEpochs, let current = devices[device].current, ack.epoch == current.epoch else { return false }
        if ack.highest > current.lastSeq { return true }
        return !contents.unpublished.rows.isEmpty
            && !contents.unpublished.rows.intersection(current.rows(of: ack.stored)).isEmpty
    }

    /// Starts a new epoch of a device. Every batch that `ack` may wrongly list as stored moves to the new epoch and gets a new
    /// number.
    ///
    /// Some of these batches may be stored; the collector then counts their samples as duplicates. Batches that `ack`
    /// lists as missing keep their numbers, because only these numbers fill the gaps.
    /// - Parameters:
    ///   - ack: an acknowledgement for which ``isOlder(than:of:)`` is true.
    ///   - didMove: called after each moved batch, to report progress: a full outbox takes long on a small machine.
    /// - Throws: ``OutboxError``. The outbox is unchanged in this case.
    public func startEpoch(after ack: Acknowledgement, of device: Int = 0, didMove: () -> Void = {}) throws {
        try write { contents in
            guard let old = contents.devices[device].current else { return }
            let numbers = old.pending.subtracting(SequenceSet(ack.missing))
            let rows = old.rows(of: numbers)
            try beginEpoch(of: device, in: &contents, continuesTimes: true)
            _ = contents.devices.remove([old.epoch: numbers], of: device)
            for row in rows.ranges.joined() {
                let (position, epochID) = contents.devices.append(row: row, to: device)
                try sql.run(
                    "UPDATE entries SET epoch = ?, seq = ? WHERE id = ?", .integer(epochID), .integer(position.seq),
                    .integer(row))
                didMove()
            }
            try saveState(&contents)
        }
    }

    /// Records that a batch was published.
    public func didPublish(_ position: BatchPosition, of device: Int = 0) {
        guard owner.keepsEpochs, position.epoch == devices[device].epoch, let row = devices[device].row(of: position)
        else { return }
        contents.unpublished.rows.remove(row)
    }

    /// Records that backlog is about to be published.
    /// - Throws: ``OutboxError`` if the record cannot be written.
    public func willSendBacklog() throws {
        guard owner.keepsEpochs, !contents.unpublished.isSending else { return }
        contents.unpublished.isSending = true
        guard contents.unpublished.isUnsaved else { return }
        do {
            try write { contents in
                try save(unpublished: contents.unpublished.toSave, last: contents.lastRow)
                contents.unpublished.didSave()
            }
        } catch {
            contents.unpublished.isSending = false
            throw error
        }
    }

    /// Records that backlog is no longer being published.
    public func didDisconnect() { contents.unpublished.isSending = false }

    /// Returns the number of a new session: the current time in µs since 1970, but always higher than the previous
    /// number.
    /// - Parameter now: the current time.
    /// - Throws: ``OutboxError``.
    public func startSession(at now: Timestamp) throws -> Int64 {
        try write { _ in
            let session = max(now.microseconds, try sql.number("session") + 1)
            try sql.set("session", .integer(session))
            return session
        }
    }

    // MARK: - File

    /// Runs a transaction. The state changes only if it is on disk.
    /// - Throws: ``OutboxError``.
    private func write<Result>(_ body: (inout OutboxContents) throws -> Result) throws -> Result {
        do {
            try restoreFile()
            var changed = contents
            let result = try database.transaction { try body(&changed) }
            contents = changed
            return result
        } catch {
            throw OutboxError(path: path, owner: owner, error)
        }
    }

    /// Reads or writes the owner's own tables in a transaction.
    /// - Throws: ``OutboxError``.
    package func writeTables<Result>(_ body: (OutboxSQL) throws -> Result) throws -> Result {
        try write { _ in try body(sql) }
    }

    /// Writes the file again if it was removed or moved, see ``OutboxFile``.
    private func restoreFile() throws {
        if let done = try file.restore() { restoration = done }
        // This is done in a later call if the file could not be opened.
        guard sql.database !== database else { return }
        try Self.limitLog(of: database, reservedSpace)
        sql = OutboxSQL(database)
    }

    private func hasSameContent(_ database: SQLiteDatabase) throws -> Bool {
        let (other, _) = try OutboxSQL(database).contents(keepsEpochs: owner.keepsEpochs)
        guard other.lastRow == contents.lastRow else { return false }
        return devices.indices.allSatisfy { index in
            guard devices[index].id != nil else { return true }
            guard let place = other.devices.index(of: devices[index].address) else { return false }
            let (mine, theirs) = (devices[index], other.devices[place].pending)
            // Some of its batches may be acknowledged.
            return mine.pending.allSatisfy { $0.value.subtracting(theirs[$0.key] ?? SequenceSet()).isEmpty }
                && (!owner.keepsEpochs || mine.epoch == other.devices[place].epoch)
        }
    }

    /// Returns what was done since the last call, because the file was removed or moved.
    package func takeRestoration() -> OutboxFile.Restoration? { restoration.take() }

    /// Limits the write-ahead log, which has to fit into the reserved space.
    private static func limitLog(of database: SQLiteDatabase, _ reservedSpace: ReservedSpace) throws {
        let size = reservedSpace.size > 0 ? max(1 << 16, reservedSpace.size / 4) : 1 << 20
        let pageSize = try database.integer("PRAGMA page_size")
        try database.execute("PRAGMA wal_autocheckpoint = \(size / pageSize)")
    }

    /// Limits the file to its current size while the disk is full, so that it does not grow into the reserved space.
    private func limitFile() {
        // While the disk has space, the limit is far above any real number of pages.
        let limit = hasDiskSpace() ? 0x3fff_fffe : (try? database.integer("PRAGMA page_count")) ?? 0
        try? database.execute("PRAGMA max_page_count = \(limit)")
    }

    /// Copies the write-ahead log into the file. Errors are ignored: a reader or a full disk may prevent the copy.
    func checkpoint(truncate: Bool = false) { _ = try? database.checkpoint(truncate: truncate) }
}

extension SequenceSet {
    /// The ranges as text: `1-40 42-42`.
    fileprivate var text: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ") }
}

extension Int64 {
    fileprivate mutating func formMaximum(_ other: Int64) { self = Swift.max(self, other) }
}
