import LockstepModel
import LockstepSQLite

/// The prepared statements of a gateway's outbox.
final class GatewayOutboxStatements {
    struct OldestRow {
        let id: Int64
        let epoch: Int64
        let seq: Int64
        let samples: Int64
    }

    let database: SQLiteDatabase
    private let insertEntry: SQLiteStatement
    private let selectEntry: SQLiteStatement
    private let selectSize: SQLiteStatement
    private let deleteEntry: SQLiteStatement
    private let selectOldest: SQLiteStatement
    private let extendDropped: SQLiteStatement
    private let insertDropped: SQLiteStatement
    private let replacePresence: SQLiteStatement

    init(_ database: SQLiteDatabase) throws {
        self.database = database
        func prepare(_ sql: String) throws -> SQLiteStatement { try database.prepare(sql, persistent: true) }
        insertEntry = try prepare(
            "INSERT INTO entries (id, epoch, seq, stream, samples, late, payload) VALUES (?, ?, ?, ?, ?, ?, ?)")
        selectEntry = try prepare("SELECT stream, payload, late FROM entries WHERE id = ?")
        selectSize = try prepare("SELECT length(payload) FROM entries WHERE id = ?")
        deleteEntry = try prepare("DELETE FROM entries WHERE id = ?")
        selectOldest = try prepare("SELECT id, epoch, seq, samples FROM entries ORDER BY id LIMIT 1")
        extendDropped = try prepare("UPDATE dropped SET last = ?2 WHERE epoch = ?1 AND last = ?2 - 1")
        insertDropped = try prepare("INSERT INTO dropped (epoch, first, last) VALUES (?1, ?2, ?2)")
        replacePresence = try prepare(
            """
            INSERT OR REPLACE INTO presences (device, phase, reason, at, format, heard_at, published)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """)
    }

    // MARK: - Batches

    func insert(_ entry: GatewayOutbox.Entry, id: Int64, epoch: Int64, samples: Int) throws {
        try insertEntry.bind(id, at: 1)
        try insertEntry.bind(epoch, at: 2)
        try insertEntry.bind(entry.position.seq, at: 3)
        try insertEntry.bind(entry.stream.name, at: 4)
        try insertEntry.bind(Int64(samples), at: 5)
        try insertEntry.bind(Int64(entry.isLate ? 1 : 0), at: 6)
        try insertEntry.bind(entry.payload, at: 7)
        try insertEntry.run()
    }

    func entry(_ id: Int64) throws -> (stream: String, payload: [UInt8], isLate: Bool)? {
        defer { selectEntry.reset() }
        try selectEntry.bind(id, at: 1)
        guard try selectEntry.step() else { return nil }
        return (selectEntry.text(at: 0) ?? "", selectEntry.bytes(at: 1) ?? [], selectEntry.int64(at: 2) == 1)
    }

    /// Deletes a batch.
    /// - Returns: the size of its payload in bytes.
    func delete(_ id: Int64) throws -> Int64 {
        defer { selectSize.reset() }
        try selectSize.bind(id, at: 1)
        let size = try selectSize.step() ? selectSize.int64(at: 0) : 0
        try deleteEntry.bind(id, at: 1)
        try deleteEntry.run()
        return size
    }

    func oldest() throws -> OldestRow? {
        defer { selectOldest.reset() }
        guard try selectOldest.step() else { return nil }
        return OldestRow(
            id: selectOldest.int64(at: 0), epoch: selectOldest.int64(at: 1), seq: selectOldest.int64(at: 2),
            samples: selectOldest.int64(at: 3))
    }

    func insertDropped(epoch: Int64, seq: Int64) throws {
        for statement in [extendDropped, insertDropped] {
            try statement.bind(epoch, at: 1)
            try statement.bind(seq, at: 2)
            try statement.run()
            if database.changes > 0 { break }
        }
    }

    // MARK: - Devices

    /// - Returns: the id of the device.
    func insert(_ device: OutboxDevice) throws -> Int64 {
        let insert = try database.prepare("INSERT INTO devices (group_name, device, sender) VALUES (?, ?, ?)")
        try insert.bind(device.address.group.rawValue, at: 1)
        try insert.bind(device.address.device.rawValue, at: 2)
        try insert.bind(device.sender, at: 3)
        try insert.run()
        return database.lastInsertRowID
    }

    /// Begins an epoch.
    /// - Returns: the id of the epoch.
    func insert(_ epoch: Epoch, of device: OutboxDevice) throws -> Int64 {
        let insert = try database.prepare("INSERT INTO epochs (device, epoch) VALUES (?, ?)")
        try insert.bind(device.id, at: 1)
        try insert.bind(epoch.rawValue, at: 2)
        try insert.run()
        let id = database.lastInsertRowID
        let update = try database.prepare("UPDATE devices SET epoch = ? WHERE id = ?")
        try update.bind(epoch.rawValue, at: 1)
        try update.bind(device.id, at: 2)
        try update.run()
        return id
    }

    func set(_ presence: OutboxPresence, of device: Int64) throws {
        try replacePresence.bind(device, at: 1)
        try replacePresence.bind(presence.phase.rawValue, at: 2)
        try replacePresence.bind(presence.reason, at: 3)
        try replacePresence.bind(presence.at.microseconds, at: 4)
        try replacePresence.bind(presence.format, at: 5)
        try replacePresence.bind(presence.heardAt.microseconds, at: 6)
        try replacePresence.bind(Int64(presence.isPublished ? 1 : 0), at: 7)
        try replacePresence.run()
    }

    func setDroppedSamples(of device: OutboxDevice) throws {
        let update = try database.prepare("UPDATE devices SET dropped_samples = ? WHERE id = ?")
        try update.bind(device.droppedSamples, at: 1)
        try update.bind(device.id, at: 2)
        try update.run()
    }

    // MARK: - Start

    /// Removes the epochs that have neither batches nor dropped ones.
    func removeUnusedEpochs() throws {
        try database.execute(
            """
            DELETE FROM epochs WHERE id NOT IN (SELECT epoch FROM entries) AND id NOT IN (SELECT epoch FROM dropped)
            """)
    }

    /// Reads the devices, the size of all payloads in bytes, and the highest id of a batch.
    func contents() throws -> (devices: OutboxDevices, bytes: Int64, lastID: Int64) {
        var byID: [Int64: OutboxDevice] = [:]
        let rows = try database.prepare("SELECT id, group_name, device, sender, epoch, dropped_samples FROM devices")
        while try rows.step() {
            let address = DeviceAddress(
                group: try GroupID(validating: rows.text(at: 1) ?? ""),
                device: try DeviceID(validating: rows.text(at: 2) ?? ""))
            var device = OutboxDevice(address: address, sender: rows.text(at: 3) ?? "")
            device.id = rows.int64(at: 0)
            device.previousEpoch = try rows.text(at: 4).map { try Epoch(validating: $0) }
            device.droppedSamples = rows.int64(at: 5)
            byID[rows.int64(at: 0)] = device
        }
        for (device, presence) in try presences() { byID[device]?.presence = presence }
        var epochs: [Int64: (device: Int64, rows: OutboxDevice.EpochRows)] = [:]
        let epochRows = try database.prepare("SELECT id, device, epoch FROM epochs")
        while try epochRows.step() {
            let id = epochRows.int64(at: 0)
            let epoch = try Epoch(validating: epochRows.text(at: 2) ?? "")
            epochs[id] = (epochRows.int64(at: 1), OutboxDevice.EpochRows(id: id, epoch: epoch))
        }
        var bytes: Int64 = 0
        var lastID: Int64 = 0
        let entries = try database.prepare("SELECT id, epoch, seq, length(payload) FROM entries ORDER BY id")
        while try entries.step() {
            lastID = entries.int64(at: 0)
            epochs[entries.int64(at: 1)]?.rows.rows[entries.int64(at: 2)] = lastID
            epochs[entries.int64(at: 1)]?.rows.pending.insert(entries.int64(at: 2))
            bytes += entries.int64(at: 3)
        }
        let dropped = try database.prepare("SELECT epoch, first, last FROM dropped")
        while try dropped.step() {
            epochs[dropped.int64(at: 0)]?.rows.dropped.insert(dropped.int64(at: 1)...dropped.int64(at: 2))
        }
        for (_, epoch) in epochs.sorted(by: { $0.key < $1.key }) { byID[epoch.device]?.epochs.append(epoch.rows) }
        var devices = OutboxDevices()
        for (_, device) in byID.sorted(by: { $0.key < $1.key }) { devices.add(device) }
        return (devices, bytes, lastID)
    }

    private func presences() throws -> [Int64: OutboxPresence] {
        var result: [Int64: OutboxPresence] = [:]
        let rows = try database.prepare(
            "SELECT device, phase, reason, at, format, heard_at, published FROM presences")
        while try rows.step() {
            guard let phase = Phase(rawValue: rows.text(at: 1) ?? "") else { continue }
            result[rows.int64(at: 0)] = OutboxPresence(
                phase: phase, reason: rows.text(at: 2) ?? "", at: Timestamp(microseconds: rows.int64(at: 3)),
                format: rows.text(at: 4) ?? "", heardAt: Timestamp(microseconds: rows.int64(at: 5)),
                isPublished: rows.int64(at: 6) == 1)
        }
        return result
    }

    // MARK: - Sessions

    func session() throws -> Int64 {
        try database.integer("SELECT ifnull(max(value), 0) FROM meta WHERE key = 'session'")
    }

    func setSession(_ session: Int64) throws {
        try database.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('session', \(session))")
    }

    /// Adds topic filters to those that were ever used.
    /// - Returns: all of them.
    func addFilters(_ filters: [String]) throws -> [String] {
        let insert = try database.prepare("INSERT OR IGNORE INTO meta (key, value) VALUES ('filter ' || ?, 1)")
        for filter in filters {
            try insert.bind(filter, at: 1)
            try insert.run()
        }
        let select = try database.prepare("SELECT substr(key, 8) FROM meta WHERE key GLOB 'filter *' ORDER BY key")
        var all: [String] = []
        while try select.step() { if let filter = select.text(at: 0) { all.append(filter) } }
        return all
    }
}
