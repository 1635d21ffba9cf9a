import LockstepModel
import LockstepSQLite

/// The SQL statements of an outbox. Batches are addressed by their rows.
final class OutboxStatements {
    /// A batch without its body.
    struct Row {
        let id: Int64
        let epochID: Int64
        let seq: Int64
        let samples: Int64
        /// The time at which the batch was written, in µs of the boot clock.
        let boot: Int64
        let bytes: Int64
    }

    /// The maximum number of rows that one transaction deletes, so that it blocks the program for a short time only.
    static let maxDeletions: Int64 = 4096
    /// The number of rows of the journal that are deleted at a time.
    private static let journalRows = 256

    let database: SQLiteDatabase
    private let insert: SQLiteStatement
    private let selectSize: SQLiteStatement
    private let select: SQLiteStatement
    private let selectNext: SQLiteStatement
    private let move: SQLiteStatement
    private let delete: SQLiteStatement
    private let deleteAcknowledged: SQLiteStatement
    private let extendDropped: SQLiteStatement
    private let insertDropped: SQLiteStatement
    private let upsertMeta: SQLiteStatement

    init(_ database: SQLiteDatabase) throws {
        self.database = database
        func prepare(_ sql: String) throws -> SQLiteStatement { try database.prepare(sql, persistent: true) }
        insert = try prepare(
            """
            INSERT INTO entries (id, epoch, seq, stream, samples, newest, boot, journal, done, unpublished, body)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        selectSize = try prepare("SELECT ifnull(sum(length(body)), 0) FROM entries WHERE id BETWEEN ? AND ?")
        select = try prepare("SELECT stream, body FROM entries WHERE id = ?")
        selectNext = try prepare(
            "SELECT id, epoch, seq, samples, boot, length(body) FROM entries WHERE id > ? ORDER BY id LIMIT 1")
        move = try prepare("UPDATE entries SET epoch = ?, seq = ? WHERE id = ?")
        delete = try prepare("DELETE FROM entries WHERE id = ?1 AND NOT (journal AND ?2)")
        deleteAcknowledged = try prepare(
            """
            DELETE FROM entries WHERE id IN (
                SELECT id FROM entries WHERE id BETWEEN ?1 AND ?2 AND NOT journal ORDER BY id LIMIT ?3)
            """)
        extendDropped = try prepare("UPDATE dropped SET last = ?2 WHERE epoch = ?1 AND last = ?2 - 1")
        insertDropped = try prepare("INSERT INTO dropped (epoch, first, last) VALUES (?1, ?2, ?2)")
        upsertMeta = try prepare(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
    }

    // MARK: - Batches

    /// - Parameters:
    ///   - watermark: every batch up to this row is acknowledged or dropped; nil except for the last batch of a commit.
    ///   - unpublished: the rows of the batches that were never published, for the last batch of a commit.
    func insert(
        _ entry: Outbox.Entry, row: Int64, epochID: Int64, samples: SampleBlock, journal: Bool, watermark: Int64?,
        unpublished: SequenceSet, at boot: Int64
    ) throws {
        try insert.bind(row, at: 1)
        try insert.bind(epochID, at: 2)
        try insert.bind(entry.position.seq, at: 3)
        try insert.bind(entry.stream.name, at: 4)
        try insert.bind(Int64(samples.count), at: 5)
        try insert.bind(samples.times.last ?? 0, at: 6)
        try insert.bind(boot, at: 7)
        try insert.bind(Int64(journal ? 1 : 0), at: 8)
        try insert.bind(watermark, at: 9)
        try insert.bind(unpublished.isEmpty ? nil : Self.text(unpublished), at: 10)
        try insert.bind(entry.body, at: 11)
        try insert.run()
    }

    /// Returns the size of the bodies of batches in bytes.
    func size(of rows: SequenceSet) throws -> Int64 {
        var size: Int64 = 0
        for range in rows.ranges {
            defer { selectSize.reset() }
            try selectSize.bind(range.lowerBound, at: 1)
            try selectSize.bind(range.upperBound, at: 2)
            if try selectSize.step() { size += selectSize.int64(at: 0) }
        }
        return size
    }

    func body(_ row: Int64) throws -> (stream: String, body: [UInt8])? {
        defer { select.reset() }
        try select.bind(row, at: 1)
        return try select.step() ? (select.text(at: 0) ?? "", select.bytes(at: 1) ?? []) : nil
    }

    /// Returns the first batch after a row.
    func next(after row: Int64) throws -> Row? {
        defer { selectNext.reset() }
        try selectNext.bind(row, at: 1)
        guard try selectNext.step() else { return nil }
        return Row(
            id: selectNext.int64(at: 0), epochID: selectNext.int64(at: 1), seq: selectNext.int64(at: 2),
            samples: selectNext.int64(at: 3), boot: selectNext.int64(at: 4), bytes: selectNext.int64(at: 5))
    }

    /// Gives a batch another number.
    func move(_ row: Int64, toEpoch epochID: Int64, seq: Int64) throws { try move.run(epochID, seq, row) }

    /// Deletes the rows of acknowledged batches that are not part of the journal.
    /// - Parameter limit: the maximum number of rows.
    /// - Returns: whether all of them were deleted.
    func deleteAcknowledged(_ rows: SequenceSet, limit: Int64) throws -> Bool {
        var left = limit
        for range in rows.ranges {
            try deleteAcknowledged.run(range.lowerBound, range.upperBound, left)
            left -= Int64(database.changes)
            if left <= 0 { return false }
        }
        return true
    }

    /// Deletes the row of a dropped batch and adds its number to the table `dropped`.
    /// - Parameter keepsJournal: whether to keep a row that is part of the journal.
    /// - Returns: whether the row was kept.
    func drop(_ row: Row, keepsJournal: Bool) throws -> Bool {
        try delete.run(row.id, keepsJournal ? 1 : 0)
        let isKept = database.changes == 0
        for statement in [extendDropped, insertDropped] {
            try statement.run(row.epochID, row.seq)
            if database.changes > 0 { break }
        }
        return isKept
    }

    // MARK: - Journal

    /// Returns whether the file has batches of the journal.
    func hasJournal() throws -> Bool {
        try database.integer("SELECT EXISTS (SELECT * FROM entries WHERE journal)") == 1
    }

    /// Writes which batches are kept only as the journal.
    func setJournaled(_ rows: SequenceSet) throws {
        try database.execute("DELETE FROM journaled")
        for range in rows.ranges {
            try database.run(
                "INSERT INTO journaled (first, last) VALUES (?, ?)", .integer(range.lowerBound),
                .integer(range.upperBound))
        }
    }

    /// Deletes the oldest rows of the journal.
    /// - Parameter rows: the batches that are kept only as the journal.
    /// - Returns: the number of rows, or 0 if there are none.
    func deleteOldestJournal(_ rows: SequenceSet) throws -> Int {
        for range in rows.ranges {
            try database.execute(
                """
                DELETE FROM entries WHERE id IN (
                    SELECT id FROM entries WHERE id BETWEEN \(range.lowerBound) AND \(range.upperBound)
                    ORDER BY id LIMIT \(Self.journalRows))
                """)
            if database.changes > 0 { return database.changes }
        }
        return 0
    }

    // MARK: - Devices and epochs

    /// - Returns: the id of the device.
    func insert(_ address: DeviceAddress) throws -> Int64 {
        try database.run(
            "INSERT INTO devices (group_name, device) VALUES (?, ?)", .text(address.group.rawValue),
            .text(address.device.rawValue))
        return database.lastInsertRowID
    }

    /// Writes everything about a device except its newest times.
    func update(_ device: OutboxDevice) throws {
        try database.run(
            """
            UPDATE devices SET group_name = ?, device = ?, epoch = ?, previous_epoch = ?, dropped_samples = ? WHERE id = ?
            """,
            .text(device.address.group.rawValue), .text(device.address.device.rawValue),
            .text(device.epoch?.rawValue ?? device.previousEpoch?.rawValue),
            .text(device.epoch == nil ? nil : device.previousEpoch?.rawValue), .integer(device.droppedSamples),
            .integer(device.id ?? 0))
    }

    /// - Returns: the id of the epoch.
    func insert(_ epoch: Epoch, of device: OutboxDevice) throws -> Int64 {
        try database.run(
            "INSERT INTO epochs (device, epoch) VALUES (?, ?)", .integer(device.id ?? 0), .text(epoch.rawValue))
        return database.lastInsertRowID
    }

    /// Writes the highest number and the newest times of the current epoch, because the rows that have them may be deleted.
    func saveProgress(of device: OutboxDevice) throws {
        guard let id = device.id, let epoch = device.current else { return }
        try database.run("UPDATE epochs SET seq = ? WHERE id = ?", .integer(epoch.lastSeq), .integer(epoch.id))
        for (stream, time) in device.newest {
            try database.run(
                "INSERT OR REPLACE INTO newest (device, stream, time) VALUES (?, ?, ?)", .integer(id), .text(stream),
                .integer(time))
        }
    }

    /// Removes the times of the epoch that ends.
    func removeNewestTimes(of device: OutboxDevice) throws {
        try database.run("DELETE FROM newest WHERE device = ?", .integer(device.id ?? 0))
    }

    func removeEpochs(_ ids: [Int64]) throws {
        for id in ids { try database.run("DELETE FROM epochs WHERE id = ?", .integer(id)) }
    }

    func removeDropped(of device: OutboxDevice) throws {
        try database.run(
            "DELETE FROM dropped WHERE epoch IN (SELECT id FROM epochs WHERE device = ?)", .integer(device.id ?? 0))
    }

    // MARK: - Values

    /// Returns a value of the table `meta`, or 0 if it is missing.
    func meta(_ key: String) throws -> Int64 {
        try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = '\(key)'")
    }

    /// Returns a value of the table `meta`, or nil if it is missing.
    func text(_ key: String) throws -> String? {
        try database.text("SELECT max(value) FROM meta WHERE key = '\(key)'")
    }

    func setMeta(_ key: String, _ value: Int64) throws {
        try upsertMeta.bind(key, at: 1)
        try upsertMeta.bind(value, at: 2)
        try upsertMeta.run()
    }

    func setMeta(_ key: String, _ value: String) throws {
        try upsertMeta.bind(key, at: 1)
        try upsertMeta.bind(value, at: 2)
        try upsertMeta.run()
    }

    func setUnpublished(_ rows: SequenceSet, last: Int64) throws {
        try setMeta("unpublished", Self.text(rows))
        try setMeta("saved", last)
    }

    func setClock(_ clock: OutboxClock) throws {
        try setMeta("boot_id", clock.bootID)
        try setMeta("clock_offset", clock.offset)
    }

    /// Returns the boot id and the clock offset in µs of the last run, or nil if unknown.
    func lastClock() throws -> (bootID: String, offset: Int64)? {
        guard let bootID = try text("boot_id") else { return nil }
        return (bootID, try meta("clock_offset"))
    }

    /// Returns the ranges of a set as text: `1-40 42-42`.
    static func text(_ rows: SequenceSet) -> String {
        rows.ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
    }
}

/// A parameter of a statement that runs seldom.
enum SQLParameter {
    case integer(Int64)
    case text(String?)
}

extension SQLiteDatabase {
    fileprivate func run(_ sql: String, _ parameters: SQLParameter...) throws {
        let statement = try prepare(sql)
        for (index, parameter) in parameters.enumerated() {
            switch parameter {
            case .integer(let value): try statement.bind(value, at: index + 1)
            case .text(let value): try statement.bind(value, at: index + 1)
            }
        }
        try statement.run()
    }
}

extension SQLiteStatement {
    fileprivate func run(_ values: Int64...) throws {
        for (index, value) in values.enumerated() { try bind(value, at: index + 1) }
        try run()
    }
}
