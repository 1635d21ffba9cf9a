import LockstepModel
import LockstepSQLite

/// The table `deletions`: what people have deleted. The collector is the only one that writes it, and creates it with the first
/// deletion.
struct DeletionTable {
    private static let create = """
        CREATE TABLE IF NOT EXISTS deletions (
            -- What people have deleted. Samples of these times are not stored when they arrive again.
            deletion_id INTEGER PRIMARY KEY,
            request TEXT NOT NULL UNIQUE, -- random id of the request
            device_id INTEGER NOT NULL REFERENCES _devices,
            stream TEXT, -- NULL for all streams
            from_t INTEGER NOT NULL, -- first time that was deleted, in µs since 1970-01-01 UTC
            to_t INTEGER NOT NULL, -- end of the times: the first one that stays
            at INTEGER NOT NULL, -- time of the request, on the collector's clock
            who TEXT, -- as the client has given it
            reason TEXT,
            secure INTEGER NOT NULL, -- 1 if the freed space was overwritten
            count INTEGER NOT NULL DEFAULT 0, -- samples deleted
            refused INTEGER NOT NULL DEFAULT 0, -- samples that arrived later and were not stored
            done INTEGER -- time of its end; NULL while it is under way
        )
        """

    struct Row {
        let number: Int64
        let device: Int64
        /// As it was when the row was read or added.
        let stored: StoredDeletion
    }

    /// The rows by device, and those that are not done, in the order in which they are tried.
    private struct Rows {
        var ofDevice: [Int64: [Row]] = [:]
        var pending: [Row] = []

        mutating func add(_ row: Row) {
            ofDevice[row.device, default: []].append(row)
            if row.stored.done == nil { pending.append(row) }
        }
    }

    private var rows = Rows()
    /// The rows without those of the current transaction.
    private var committed = Rows()

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        for row in try Self.read(in: database) { rows.add(row) }
        committed = rows
    }

    /// Returns all rows, or those of one device, in order of their requests.
    static func read(of device: Int64? = nil, in database: SQLiteDatabase) throws(SQLiteError) -> [Row] {
        guard try StoreSchema.storedSQL(of: "deletions", in: database) != nil else { return [] }
        let select = try database.prepare(
            """
            SELECT group_name, device, deletion_id, device_id, request, stream, from_t, to_t, at, who, deletions.reason, secure,
                count, refused, done
            FROM deletions JOIN _devices USING (device_id) \(device == nil ? "" : "WHERE device_id = ?1")
            ORDER BY deletion_id
            """)
        if let device { try select.bind(device, at: 1) }
        var rows: [Row] = []
        while try select.step() {
            guard let address = deviceAddress(select, at: 0) else { continue }
            let from = select.int64(at: 6)
            let deletion = Deletion(
                id: select.text(at: 4) ?? "", device: address, stream: select.text(at: 5),
                times: from..<max(from, select.int64(at: 7)), at: Timestamp(microseconds: select.int64(at: 8)),
                who: select.text(at: 9), reason: select.text(at: 10), isSecure: select.int64(at: 11) != 0)
            let stored = StoredDeletion(
                deletion: deletion, count: select.int64(at: 12), refused: select.int64(at: 13),
                done: timestamp(select, at: 14))
            rows.append(Row(number: select.int64(at: 2), device: select.int64(at: 3), stored: stored))
        }
        return rows
    }

    /// Returns the deletion to do next, or nil if all are done.
    /// - Parameter failed: the numbers of those that have failed, which the others precede.
    func pending(after failed: Set<Int64>) -> Row? {
        rows.pending.first { !failed.contains($0.number) } ?? rows.pending.first
    }

    /// Returns the times of a stream of a device that were deleted, and overlap a range.
    func times(
        of stream: SensorStream, _ device: Int64, in range: ClosedRange<Int64>
    ) -> [(number: Int64, times: Range<Int64>)] {
        guard let rows = rows.ofDevice[device] else { return [] }
        return rows.filter { $0.stored.deletion.covers(stream) }.map { ($0.number, $0.stored.deletion.times) }
            .filter { $1.overlaps(range) }
    }

    /// Adds a request as part of the current transaction, unless the table has it.
    mutating func add(_ deletion: Deletion, of device: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.execute(Self.create)
        let done = deletion.onlyRefuses ? deletion.at : nil
        let texts = [deletion.stream, deletion.who, deletion.reason].map { $0.map(literalOfSQLite) ?? "NULL" }
        try database.execute(
            """
            INSERT INTO deletions (request, device_id, stream, from_t, to_t, at, who, reason, secure, done) VALUES (
                \(literalOfSQLite(deletion.id)), \(device), \(texts[0]), \(deletion.times.lowerBound),
                \(deletion.times.upperBound), \(deletion.at.microseconds), \(texts[1]), \(texts[2]),
                \(deletion.isSecure ? 1 : 0), \(done.map { "\($0.microseconds)" } ?? "NULL")) ON CONFLICT (request) DO NOTHING
            """)
        guard database.changes == 1 else { return }
        let stored = StoredDeletion(deletion: deletion, count: 0, refused: 0, done: done)
        rows.add(Row(number: database.lastInsertRowID, device: device, stored: stored))
    }

    /// Counts samples that were deleted, or that arrived later and were not stored, as part of the current transaction.
    func count(
        deleted: Int = 0, refused: Int = 0, of number: Int64, _ device: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        try database.execute(
            """
            UPDATE deletions SET count = count + \(deleted), refused = refused + \(refused) WHERE deletion_id = \(number);
            UPDATE _devices SET samples = samples - \(deleted) WHERE \(deleted) > 0 AND device_id = \(device);
            """)
    }

    /// Records the end of a deletion, after its transaction.
    mutating func didComplete(_ row: Row) {
        rows.pending.removeAll { $0.number == row.number }
        commit()
    }

    /// Lets the others go before a deletion that has failed.
    mutating func postpone(_ row: Row) {
        rows.pending.removeAll { $0.number == row.number }
        rows.pending.append(row)
        commit()
    }

    mutating func commit() { committed = rows }

    mutating func rollBack() { rows = committed }
}
