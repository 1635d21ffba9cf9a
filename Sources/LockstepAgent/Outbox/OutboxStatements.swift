import LockstepModel
import LockstepSQLite

/// The prepared statements of an outbox.
final class OutboxStatements {
    /// The oldest batch in the outbox.
    struct Oldest {
        let id: Int64
        let position: BatchPosition
        let samples: Int64
        /// The time at which the batch was written, in µs since 1970.
        let createdAt: Int64
        let bytes: Int64
    }

    private let database: SQLiteDatabase
    private let streams: StreamCatalog
    private let insert: SQLiteStatement
    private let insertJournal: SQLiteStatement
    private let selectSize: SQLiteStatement
    private let delete: SQLiteStatement
    private let select: SQLiteStatement
    private let renumber: SQLiteStatement
    private let selectOldest: SQLiteStatement
    private let deleteOldest: SQLiteStatement
    private let extendDropped: SQLiteStatement
    private let insertDropped: SQLiteStatement
    private let upsertMeta: SQLiteStatement

    init(_ database: SQLiteDatabase, streams: StreamCatalog) throws {
        self.database = database
        self.streams = streams
        func prepare(_ sql: String) throws -> SQLiteStatement { try database.prepare(sql, persistent: true) }
        insert = try prepare(
            "INSERT INTO batches (epoch, seq, stream, samples, created, payload) VALUES (?, ?, ?, ?, ?, ?)")
        insertJournal = try prepare("INSERT INTO journal (epoch, seq, stream, payload) VALUES (?, ?, ?, ?)")
        selectSize = try prepare(
            "SELECT ifnull(sum(length(payload)), 0) FROM batches WHERE epoch = ? AND seq BETWEEN ? AND ?")
        delete = try prepare("DELETE FROM batches WHERE epoch = ? AND seq BETWEEN ? AND ?")
        select = try prepare("SELECT stream, payload FROM batches WHERE epoch = ? AND seq = ?")
        renumber = try prepare("UPDATE batches SET epoch = ?, seq = ?, payload = ? WHERE epoch = ? AND seq = ?")
        selectOldest = try prepare(
            "SELECT id, epoch, seq, samples, created, length(payload) FROM batches ORDER BY id LIMIT 1")
        deleteOldest = try prepare("DELETE FROM batches WHERE id = ?")
        extendDropped = try prepare("UPDATE dropped SET last = ?2 WHERE epoch = ?1 AND last = ?2 - 1")
        insertDropped = try prepare("INSERT INTO dropped (epoch, first, last) VALUES (?1, ?2, ?2)")
        upsertMeta = try prepare(
            "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
    }

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

    /// Writes a new epoch.
    /// - Parameter seq: the highest number in the new epoch.
    func beginEpoch(_ epoch: Epoch, after previous: Epoch, seq: Int64) throws {
        try setMeta("epoch", epoch.rawValue)
        try setMeta("previous_epoch", previous.rawValue)
        try setMeta("seq", seq)
        try setUnpublished(SequenceSet())
    }

    func insert(_ entry: Outbox.Entry, samples: Int, at now: Timestamp) throws {
        try insert.bind(entry.position.epoch.rawValue, at: 1)
        try insert.bind(entry.position.seq, at: 2)
        try insert.bind(entry.stream.name, at: 3)
        try insert.bind(Int64(samples), at: 4)
        try insert.bind(now.microseconds, at: 5)
        try insert.bind(entry.payload, at: 6)
        try insert.run()
    }

    func insertIntoJournal(_ entry: Outbox.Entry) throws {
        try insertJournal.bind(entry.position.epoch.rawValue, at: 1)
        try insertJournal.bind(entry.position.seq, at: 2)
        try insertJournal.bind(entry.stream.name, at: 3)
        try insertJournal.bind(entry.payload, at: 4)
        try insertJournal.run()
    }

    /// Deletes batches.
    /// - Returns: the size of their payloads in bytes.
    func delete(_ epoch: Epoch, _ range: ClosedRange<Int64>) throws -> Int64 {
        var freed: Int64 = 0
        for statement in [selectSize, delete] {
            try statement.bind(epoch.rawValue, at: 1)
            try statement.bind(range.lowerBound, at: 2)
            try statement.bind(range.upperBound, at: 3)
            if statement === selectSize {
                if try statement.step() { freed = statement.int64(at: 0) }
                statement.reset()
            } else {
                try statement.run()
            }
        }
        return freed
    }

    func entry(at position: BatchPosition) throws -> Outbox.Entry? {
        defer { select.reset() }
        try select.bind(position.epoch.rawValue, at: 1)
        try select.bind(position.seq, at: 2)
        // The settings may have changed since the batch was written, so that its stream is no longer declared.
        guard try select.step(), let stream = select.text(at: 0).flatMap(streams.reference(named:)) else { return nil }
        return Outbox.Entry(position: position, stream: stream, payload: select.bytes(at: 1) ?? [])
    }

    /// Changes the number of a batch, and replaces its payload, which contains the number.
    func renumber(_ position: BatchPosition, as entry: Outbox.Entry) throws {
        try renumber.bind(entry.position.epoch.rawValue, at: 1)
        try renumber.bind(entry.position.seq, at: 2)
        try renumber.bind(entry.payload, at: 3)
        try renumber.bind(position.epoch.rawValue, at: 4)
        try renumber.bind(position.seq, at: 5)
        try renumber.run()
    }

    func oldest() throws -> Oldest? {
        defer { selectOldest.reset() }
        guard try selectOldest.step() else { return nil }
        return Oldest(
            id: selectOldest.int64(at: 0),
            position: BatchPosition(
                epoch: try Epoch(validating: selectOldest.text(at: 1) ?? ""), seq: selectOldest.int64(at: 2)),
            samples: selectOldest.int64(at: 3), createdAt: selectOldest.int64(at: 4), bytes: selectOldest.int64(at: 5))
    }

    /// Deletes a batch and adds its number to the table `dropped`.
    func drop(_ batch: Oldest) throws {
        try deleteOldest.bind(batch.id, at: 1)
        try deleteOldest.run()
        for statement in [extendDropped, insertDropped] {
            try statement.bind(batch.position.epoch.rawValue, at: 1)
            try statement.bind(batch.position.seq, at: 2)
            try statement.run()
            if database.changes > 0 { break }
        }
    }

    /// Returns the boot id and the clock offset in µs of the last run, or nil if unknown.
    func lastClock() throws -> (bootID: String, offset: Int64)? {
        guard let bootID = try database.text("SELECT max(value) FROM meta WHERE key = 'boot_id'") else { return nil }
        return (bootID, try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'clock_offset'"))
    }

    func setClock(_ clock: OutboxClock) throws {
        try setMeta("boot_id", clock.bootID)
        try setMeta("clock_offset", clock.offset)
    }

    /// Returns the saved numbers of unpublished batches.
    func unpublished() throws -> SequenceSet {
        let text = try database.text("SELECT max(value) FROM meta WHERE key = 'unpublished'") ?? ""
        var batches = SequenceSet()
        for range in text.split(separator: " ") {
            let ends = range.split(separator: "-").compactMap { Int64($0) }
            if let first = ends.first, let last = ends.last, first <= last { batches.insert(first...last) }
        }
        return batches
    }

    func setUnpublished(_ batches: SequenceSet) throws {
        let ranges = batches.ranges.map { "\($0.lowerBound)-\($0.upperBound)" }
        try setMeta("unpublished", ranges.joined(separator: " "))
    }

    /// Returns the time at which the newest batch was written, in µs since 1970, or nil if the outbox is empty.
    func newestTime() throws -> Int64? {
        let query = try database.prepare("SELECT created FROM batches ORDER BY id DESC LIMIT 1")
        return try query.step() ? query.int64(at: 0) : nil
    }

    /// Marks the ages of all batches as unknown.
    /// - Returns: the highest `id` of these batches.
    func forgetTimes() throws -> Int64 {
        let last = try database.integer("SELECT ifnull(max(id), 0) FROM batches")
        try setMeta("undated", last)
        return last
    }

    /// Returns the batch numbers in the table `batches` or `journal`.
    func numbers(in table: String) throws -> [Epoch: SequenceSet] {
        let query = try database.prepare("SELECT epoch, seq FROM \(table) ORDER BY epoch, seq")
        var result: [Epoch: SequenceSet] = [:]
        while try query.step() {
            let epoch = try Epoch(validating: query.text(at: 0) ?? "")
            result[epoch, default: SequenceSet()].insert(query.int64(at: 1))
        }
        return result
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
}
