import LockstepModel
import LockstepSQLite

/// The prepared statements of an outbox. Batches are addressed by their ids, see ``BatchIDs``.
final class OutboxStatements {
    /// A batch without its payload.
    struct Row {
        let id: Int64
        let samples: Int64
        /// The time at which the batch was written, in µs of the boot clock.
        let boot: Int64
        let bytes: Int64
    }

    /// What the last batch of a commit records besides its samples.
    struct State {
        /// Every batch up to this id is acknowledged or dropped.
        var watermark: Int64
        /// The batches that were never published, or nil if the set is saved in the table `meta`.
        var unpublished: SequenceSet?
    }

    /// The maximum number of rows that one transaction deletes, so that it blocks the agent for a short time only.
    static let maxDeletions: Int64 = 4096

    let database: SQLiteDatabase
    private let streams: StreamCatalog
    private let insert: SQLiteStatement
    private let selectSize: SQLiteStatement
    private let select: SQLiteStatement
    private let selectRow: SQLiteStatement
    private let move: SQLiteStatement
    private let delete: SQLiteStatement
    private let deleteAcknowledged: SQLiteStatement
    private let extendDropped: SQLiteStatement
    private let insertDropped: SQLiteStatement
    private let upsertMeta: SQLiteStatement

    init(_ database: SQLiteDatabase, streams: StreamCatalog) throws {
        self.database = database
        self.streams = streams
        func prepare(_ sql: String) throws -> SQLiteStatement { try database.prepare(sql, persistent: true) }
        insert = try prepare(
            """
            INSERT INTO entries (id, stream, samples, newest, boot, journal, done, unpublished, payload)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        selectSize = try prepare("SELECT ifnull(sum(length(payload)), 0) FROM entries WHERE id BETWEEN ? AND ?")
        select = try prepare("SELECT stream, payload FROM entries WHERE id = ?")
        selectRow = try prepare("SELECT samples, boot, length(payload) FROM entries WHERE id = ?")
        move = try prepare("UPDATE entries SET id = ?, payload = ? WHERE id = ?")
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

    /// - Parameter state: the state to record, for the last batch of a commit.
    func insert(
        _ entry: Outbox.Entry, id: Int64, samples: SampleBlock, journal: Bool, state: State?, at boot: Int64
    ) throws {
        try insert.bind(id, at: 1)
        try insert.bind(entry.stream.name, at: 2)
        try insert.bind(Int64(samples.count), at: 3)
        try insert.bind(samples.times.last ?? 0, at: 4)
        try insert.bind(boot, at: 5)
        try insert.bind(Int64(journal ? 1 : 0), at: 6)
        try insert.bind(state?.watermark, at: 7)
        try insert.bind(state?.unpublished.flatMap { $0.isEmpty ? nil : Self.text($0) }, at: 8)
        try insert.bind(entry.payload, at: 9)
        try insert.run()
    }

    /// Returns the size of the payloads of batches in bytes.
    func size(of ids: SequenceSet) throws -> Int64 {
        var size: Int64 = 0
        for range in ids.ranges {
            defer { selectSize.reset() }
            try selectSize.bind(range.lowerBound, at: 1)
            try selectSize.bind(range.upperBound, at: 2)
            if try selectSize.step() { size += selectSize.int64(at: 0) }
        }
        return size
    }

    func entry(_ id: Int64, at position: BatchPosition) throws -> Outbox.Entry? {
        defer { select.reset() }
        try select.bind(id, at: 1)
        // The settings may have changed since the batch was written, so that its stream is no longer declared.
        guard try select.step(), let stream = select.text(at: 0).flatMap(streams.reference(named:)) else { return nil }
        return Outbox.Entry(position: position, stream: stream, payload: select.bytes(at: 1) ?? [])
    }

    func row(_ id: Int64) throws -> Row? {
        defer { selectRow.reset() }
        try selectRow.bind(id, at: 1)
        guard try selectRow.step() else { return nil }
        return Row(
            id: id, samples: selectRow.int64(at: 0), boot: selectRow.int64(at: 1), bytes: selectRow.int64(at: 2))
    }

    /// Changes the id of a batch, and replaces its payload, which contains the number.
    func move(_ id: Int64, to newID: Int64, payload: [UInt8]) throws {
        try move.bind(newID, at: 1)
        try move.bind(payload, at: 2)
        try move.bind(id, at: 3)
        try move.run()
    }

    /// Deletes the rows of acknowledged batches that are not part of the journal.
    /// - Parameter limit: the maximum number of rows.
    /// - Returns: whether all of them were deleted.
    func deleteAcknowledged(_ ids: SequenceSet, limit: Int64 = maxDeletions) throws -> Bool {
        var left = limit
        for range in ids.ranges {
            try deleteAcknowledged.bind(range.lowerBound, at: 1)
            try deleteAcknowledged.bind(range.upperBound, at: 2)
            try deleteAcknowledged.bind(left, at: 3)
            try deleteAcknowledged.run()
            left -= Int64(database.changes)
            if left <= 0 { return false }
        }
        return true
    }

    /// Deletes the row of a dropped batch and adds its number to the table `dropped`.
    /// - Parameter keepsJournal: whether to keep a row that is part of the journal.
    /// - Returns: whether the row was kept.
    func drop(_ id: Int64, at position: BatchPosition, keepsJournal: Bool) throws -> Bool {
        try delete.bind(id, at: 1)
        try delete.bind(Int64(keepsJournal ? 1 : 0), at: 2)
        try delete.run()
        let isKept = database.changes == 0
        for statement in [extendDropped, insertDropped] {
            try statement.bind(position.epoch.rawValue, at: 1)
            try statement.bind(position.seq, at: 2)
            try statement.run()
            if database.changes > 0 { break }
        }
        return isKept
    }

    func droppedRanges() throws -> [Epoch: SequenceSet] {
        let query = try database.prepare("SELECT epoch, first, last FROM dropped")
        var result: [Epoch: SequenceSet] = [:]
        while try query.step() {
            let epoch = try Epoch(validating: query.text(at: 0) ?? "")
            result[epoch, default: SequenceSet()].insert(query.int64(at: 1)...query.int64(at: 2))
        }
        return result
    }

    // MARK: - Values

    func setMeta(_ key: String, _ value: String) throws {
        try upsertMeta.bind(key, at: 1)
        try upsertMeta.bind(value, at: 2)
        try upsertMeta.run()
    }

    func setMeta(_ key: String, _ value: Int64) throws {
        try upsertMeta.bind(key, at: 1)
        try upsertMeta.bind(value, at: 2)
        try upsertMeta.run()
    }

    func setUnpublished(_ batches: SequenceSet, last: Int64) throws {
        try setMeta("unpublished", Self.text(batches))
        try setMeta("saved", last)
    }

    func setClock(_ clock: OutboxClock) throws {
        try setMeta("boot_id", clock.bootID)
        try setMeta("clock_offset", clock.offset)
    }

    /// Returns the ranges of a set as text: `1-40 42-42`.
    static func text(_ batches: SequenceSet) -> String {
        batches.ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " ")
    }
}
