import Glibc
public import LockstepModel
import LockstepSQLite

/// A range of time whose samples stay, whatever the rules of retention say.
public struct Hold: Hashable, Sendable {
    /// The number of the hold.
    public let id: Int64
    /// The device.
    public let device: DeviceAddress
    /// The name of the stream, or nil for all streams.
    public let stream: String?
    /// The time of the first sample that stays, in µs since 1970.
    public let from: Int64
    /// The end, exclusive, in µs since 1970.
    public let to: Int64
    /// Why the samples stay.
    public let reason: String

    package init(id: Int64, device: DeviceAddress, stream: String?, from: Int64, to: Int64, reason: String) {
        self.id = id
        self.device = device
        self.stream = stream
        self.from = from
        self.to = to
        self.reason = reason
    }

    /// Returns the parts of a range that no hold covers, in ascending order.
    static func free(_ range: Range<Int64>, of holds: [Range<Int64>]) -> [Range<Int64>] {
        var free: [Range<Int64>] = []
        var start = range.lowerBound
        for hold in holds.sorted(by: { $0.lowerBound < $1.lowerBound }) where hold.upperBound > start {
            guard hold.lowerBound < range.upperBound else { break }
            if hold.lowerBound > start { free.append(start..<hold.lowerBound) }
            start = hold.upperBound
        }
        if start < range.upperBound { free.append(start..<range.upperBound) }
        return free
    }
}

/// The table `holds` of an SQLite store.
///
/// It is created with the first hold. `lockstep hold` writes it beside the collector, which reads it in each transaction that deletes.
public enum HoldTable {
    private static let definition = """
        CREATE TABLE IF NOT EXISTS holds (
            -- Samples that stay, whatever the rules of retention say.
            hold_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
            device_id INTEGER NOT NULL REFERENCES _devices,
            stream TEXT, -- motion/accelerometer, steps, ...; NULL for all
            from_t INTEGER NOT NULL, -- time of the first sample, and the end (exclusive), in µs since 1970-01-01 UTC
            to_t INTEGER NOT NULL,
            reason TEXT NOT NULL,
            at INTEGER NOT NULL -- time of the request, in µs since 1970-01-01 UTC
        )
        """

    /// Adds a hold.
    /// - Returns: its number.
    /// - Throws: ``StoreError`` if the store cannot be written or the device is unknown.
    public static func add(
        to path: String, device: DeviceAddress, stream: String?, from: Int64, to: Int64, reason: String, now: Timestamp
    ) throws(StoreError) -> Int64 {
        try change(path) { database in
            try database.execute(definition)
            let insert = try database.prepare(
                """
                INSERT INTO holds (device_id, stream, from_t, to_t, reason, at)
                SELECT device_id, ?3, ?4, ?5, ?6, ?7 FROM _devices WHERE group_name = ?1 AND device = ?2
                """)
            try insert.bind(device.group.rawValue, at: 1)
            try insert.bind(device.device.rawValue, at: 2)
            try insert.bind(stream, at: 3)
            try insert.bind(from, at: 4)
            try insert.bind(to, at: 5)
            try insert.bind(reason, at: 6)
            try insert.bind(now.microseconds, at: 7)
            try insert.run()
            guard database.changes == 1 else { throw StoreError(.other, "no device '\(device)' in \(path)") }
            return database.lastInsertRowID
        }
    }

    /// Removes a hold.
    /// - Throws: ``StoreError`` if there is none with this number, or the store cannot be written.
    public static func remove(_ id: Int64, from path: String) throws(StoreError) {
        try change(path) { database in
            guard try exists(in: database) else { throw StoreError(.other, "\(path) has no holds") }
            let delete = try database.prepare("DELETE FROM holds WHERE hold_id = ?")
            try delete.bind(id, at: 1)
            try delete.run()
            guard database.changes == 1 else { throw StoreError(.other, "no hold \(id) in \(path)") }
        }
    }

    private static func exists(in database: SQLiteDatabase) throws(SQLiteError) -> Bool {
        try StoreSchema.storedSQL(of: "holds", in: database) != nil
    }

    private static func change<Result>(
        _ path: String, _ body: (SQLiteDatabase) throws -> Result
    ) throws(StoreError) -> Result {
        guard access(path, F_OK) == 0 else { throw StoreError(.missing, "there is no store at \(path)") }
        do {
            let database = try SQLiteDatabase(path: path, mode: .readWrite, busyTimeout: 30_000)
            try StoreSchema.check(database)
            try database.keepLogFiles()
            return try database.transaction { try body(database) }
        } catch { throw StoreError(error, path: path) }
    }

    /// Returns all holds, with the ids of their devices.
    static func read(in database: SQLiteDatabase) throws(SQLiteError) -> [(device: Int64, hold: Hold)] {
        guard try exists(in: database) else { return [] }
        let select = try database.prepare(
            """
            SELECT group_name, device, device_id, hold_id, stream, from_t, to_t, holds.reason
            FROM holds JOIN _devices USING (device_id) ORDER BY hold_id
            """)
        var holds: [(device: Int64, hold: Hold)] = []
        while try select.step() {
            guard let address = deviceAddress(select, at: 0) else { continue }
            holds.append(
                (
                    select.int64(at: 2),
                    Hold(
                        id: select.int64(at: 3), device: address, stream: select.text(at: 4), from: select.int64(at: 5),
                        to: select.int64(at: 6), reason: select.text(at: 7) ?? "")
                ))
        }
        return holds
    }
}

extension [(device: Int64, hold: Hold)] {
    /// Returns the held ranges of a stream of a device.
    func ranges(of stream: String, device: Int64) -> [Range<Int64>] {
        isEmpty
            ? []
            : filter { $0.device == device && ($0.hold.stream ?? stream) == stream && $0.hold.from < $0.hold.to }
                .map { $0.hold.from..<$0.hold.to }
    }
}
