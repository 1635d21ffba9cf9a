import LockstepModel
import LockstepSQLite

/// The table of devices: the number that stands for each, and what is counted of it.
struct DeviceTable {
    private var committed: [DeviceAddress: Int64] = [:]
    private var pending: [DeviceAddress: Int64] = [:]

    private let select: SQLiteStatement
    private let insert: SQLiteStatement
    private let count: SQLiteStatement

    init(in database: SQLiteDatabase) throws(SQLiteError) {
        select = try database.prepare(
            "SELECT device_id FROM devices WHERE group_name = ? AND device = ?", persistent: true)
        insert = try database.prepare("INSERT INTO devices (group_name, device) VALUES (?, ?)", persistent: true)
        // SQL's min and max are NULL where one side is.
        count = try database.prepare(
            """
            UPDATE devices SET
                first_seen = ifnull(min(first_seen, ?2), ifnull(first_seen, ?2)),
                last_seen = ifnull(max(last_seen, ?3), ifnull(last_seen, ?3)),
                last_t = ifnull(max(last_t, ?4), ifnull(last_t, ?4)),
                samples = samples + ?5, duplicates = duplicates + ?6, conflicts = conflicts + ?7
            WHERE device_id = ?1
            """, persistent: true)
    }

    /// The device's number; a device never heard of gets one.
    mutating func id(of device: DeviceAddress, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        if let id = committed[device] ?? pending[device] { return id }
        let id: Int64
        if let found = try find(device) { id = found } else { id = try add(device, in: database) }
        pending[device] = id
        return id
    }

    /// Adds what a group brought of a device.
    func add(_ news: DeviceNews, to device: Int64) throws(SQLiteError) {
        try count.bind(device, at: 1)
        try count.bind(news.firstSeen?.microseconds, at: 2)
        try count.bind(news.lastSeen?.microseconds, at: 3)
        try count.bind(news.newestSample, at: 4)
        try count.bind(Int64(news.counts.stored), at: 5)
        try count.bind(Int64(news.counts.duplicates), at: 6)
        try count.bind(Int64(news.counts.conflicts), at: 7)
        try count.run()
    }

    /// Takes what waits for known: the transaction is committed.
    mutating func commit() {
        committed.merge(pending) { known, _ in known }
        pending.removeAll(keepingCapacity: true)
    }

    /// Forgets the numbers given since the last commit: they were rolled back.
    mutating func rollback() {
        pending.removeAll(keepingCapacity: true)
    }

    private func find(_ device: DeviceAddress) throws(SQLiteError) -> Int64? {
        try select.bind(device.group.rawValue, at: 1)
        try select.bind(device.device.rawValue, at: 2)
        defer { select.reset() }
        return try select.step() ? select.int64(at: 0) : nil
    }

    private func add(_ device: DeviceAddress, in database: SQLiteDatabase) throws(SQLiteError) -> Int64 {
        try insert.bind(device.group.rawValue, at: 1)
        try insert.bind(device.device.rawValue, at: 2)
        try insert.run()
        return database.lastInsertRowID
    }
}

/// What a group brought of one device.
struct DeviceNews {
    let device: DeviceAddress
    private(set) var firstSeen: Timestamp?
    private(set) var lastSeen: Timestamp?
    /// In µs since 1970.
    private(set) var newestSample: Int64?
    private(set) var counts = IngestResult.Counts()

    init(_ device: DeviceAddress) { self.device = device }

    mutating func see(at time: Timestamp) {
        firstSeen = firstSeen.map { min($0, time) } ?? time
        lastSeen = lastSeen.map { max($0, time) } ?? time
    }

    mutating func add(_ received: ReceivedBatch, _ counts: IngestResult.Counts) {
        see(at: received.receivedAt)
        if let newest = received.batch.samples.times.max() { newestSample = max(newest, newestSample ?? newest) }
        self.counts += counts
    }
}
