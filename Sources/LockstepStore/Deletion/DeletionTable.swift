import LockstepModel
import LockstepSQLite

/// The table `deletions`: what people have deleted. The collector is the only one that writes it, and creates it with the first
/// deletion.
struct DeletionTable {
    private static let create = """
        CREATE TABLE deletions (
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

    /// A row of the table.
    struct Entry {
        let id: Int64
        let device: Int64
        let deletion: Deletion
        var isDone: Bool
    }

    /// All rows, by device.
    private var entries: [Int64: [Entry]] = [:]
    /// The rows that the current transaction adds, and their devices.
    private var added: [(id: Int64, device: Int64)] = []
    private var exists: Bool
    /// Whether the current transaction has created the table.
    private var isNew = false

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        exists = try Self.exists(in: database)
        for row in try Self.read(in: database) {
            entries[row.entry.device, default: []].append(row.entry)
        }
    }

    private static func exists(in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try StoreSchema.storedSQL(of: "deletions", in: database) != nil
    }

    /// Returns all rows, or those of one device, in order of their requests.
    static func read(
        of device: Int64? = nil, in database: SQLiteDatabase
    ) throws(SQLiteError) -> [(entry: Entry, stored: StoredDeletion)] {
        guard try exists(in: database) else { return [] }
        let select = try database.prepare(
            """
            SELECT group_name, device, deletion_id, device_id, request, stream, from_t, to_t, at, who, deletions.reason, secure,
                count, refused, done
            FROM deletions JOIN _devices USING (device_id) \(device == nil ? "" : "WHERE device_id = ?1")
            ORDER BY deletion_id
            """)
        if let device { try select.bind(device, at: 1) }
        var rows: [(entry: Entry, stored: StoredDeletion)] = []
        while try select.step() {
            guard let address = deviceAddress(select, at: 0) else { continue }
            let from = select.int64(at: 6)
            let deletion = Deletion(
                id: select.text(at: 4) ?? "", device: address, stream: select.text(at: 5),
                times: from..<max(from, select.int64(at: 7)), at: Timestamp(microseconds: select.int64(at: 8)),
                who: select.text(at: 9), reason: select.text(at: 10), isSecure: select.int64(at: 11) != 0)
            let done = timestamp(select, at: 14)
            rows.append(
                (
                    Entry(
                        id: select.int64(at: 2), device: select.int64(at: 3), deletion: deletion, isDone: done != nil),
                    StoredDeletion(
                        deletion: deletion, count: select.int64(at: 12), refused: select.int64(at: 13), done: done)
                ))
        }
        return rows
    }

    /// The first deletion that is not done, or nil.
    var pending: Entry? {
        entries.isEmpty
            ? nil : entries.values.joined().filter { !$0.isDone }.min { $0.id < $1.id }
    }

    /// Returns the deletions of a device that cover a stream.
    func covering(_ stream: SensorStream, of device: Int64) -> [Entry] {
        entries.isEmpty ? [] : entries[device]?.filter { $0.deletion.covers(stream) } ?? []
    }

    /// Adds a request as part of the current transaction, unless the table has it.
    mutating func add(_ deletion: Deletion, of device: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        if !exists {
            try database.execute(Self.create)
            (exists, isNew) = (true, true)
        }
        let insert = try database.prepare(
            """
            INSERT INTO deletions (request, device_id, stream, from_t, to_t, at, who, reason, secure)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (request) DO NOTHING
            """)
        try insert.bind(deletion.id, at: 1)
        try insert.bind(device, at: 2)
        try insert.bind(deletion.stream, at: 3)
        try insert.bind(deletion.times.lowerBound, at: 4)
        try insert.bind(deletion.times.upperBound, at: 5)
        try insert.bind(deletion.at.microseconds, at: 6)
        try insert.bind(deletion.who, at: 7)
        try insert.bind(deletion.reason, at: 8)
        try insert.bind(deletion.isSecure ? 1 as Int64 : 0, at: 9)
        try insert.run()
        guard database.changes == 1 else { return }
        let entry = Entry(id: database.lastInsertRowID, device: device, deletion: deletion, isDone: false)
        entries[device, default: []].append(entry)
        added.append((entry.id, device))
    }

    /// Counts samples that were not stored, as part of the current transaction.
    func count(refused: Int64, of id: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        try database.execute("UPDATE deletions SET refused = refused + \(refused) WHERE deletion_id = \(id)")
    }

    /// Records that a deletion is done.
    mutating func complete(_ entry: Entry) {
        guard let index = entries[entry.device]?.firstIndex(where: { $0.id == entry.id }) else { return }
        entries[entry.device]?[index].isDone = true
    }

    mutating func commit() {
        isNew = false
        added.removeAll()
    }

    mutating func rollBack() {
        for (id, device) in added {
            entries[device]?.removeAll { $0.id == id }
            if entries[device]?.isEmpty == true { entries[device] = nil }
        }
        if isNew { (exists, isNew) = (false, false) }
        added.removeAll()
    }
}
