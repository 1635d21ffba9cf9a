import Foundation
import LockstepModel
import LockstepStore

/// A large store of synthetic accelerations: 1,000 devices at 100 Hz. The first device has 8.64 % of the rows (a day,
/// of 100 million rows), the others have equal shares. All start at the same time.
struct QueryStore {
    let path: String
    let rows: Int

    static let devices = 1000
    /// The device with most rows.
    static let longest = "bench-0001"
    /// The time of the first samples, in µs since 1970: 2026-01-01T00:00:00Z.
    static let start: Int64 = 1_767_225_600_000_000
    /// The interval between samples, in µs.
    private static let step: Int64 = 10_000

    /// The number of rows of ``longest``.
    var longestRows: Int { rows * 864 / 10_000 }
    /// The number of rows of each other device.
    private var shareRows: Int { (rows - longestRows) / (Self.devices - 1) }

    /// Opens the store with this number of rows in `folder`. Creates it if it does not exist; it is kept for later
    /// runs.
    init(rows: Int, in folder: String) throws {
        self.rows = rows
        // A store of an earlier schema is not used.
        path = folder + "/query-1-\(rows).db"
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try checkRoom(in: folder)
        try fill()
    }

    /// Fills the store under a temporary name, so that an interrupted one is created again.
    private func fill() throws {
        let unfinished = path + ".unfinished"
        for file in [unfinished, unfinished + "-wal", unfinished + "-shm"] {
            try? FileManager.default.removeItem(atPath: file)
        }
        StatusLine.show("query: filling \(path) with \(rows) rows, only once")
        // A stream has a table from its first sample on.
        let store = try SQLiteStore(path: unfinished)
        let device = DeviceAddress(group: .standard, device: try DeviceID(validating: "first"))
        let samples = SampleBlock(
            stream: .accelerometer, times: [Self.start], columns: Array(repeating: [0], count: 3))
        try store.write(
            IngestGroup(batches: [
                ReceivedBatch(
                    device: device, batch: Batch(position: nil, samples: samples),
                    receivedAt: Timestamp(microseconds: Self.start))
            ]))
        store.close()
        try Launched.run("sqlite3", ["-bail", unfinished, sql])
        try FileManager.default.moveItem(atPath: unfinished, toPath: path)
    }

    /// Inserts the rows in the order of the key. No journal is needed, because an unfinished store is discarded.
    private var sql: String {
        """
        PRAGMA journal_mode = OFF;
        PRAGMA synchronous = OFF;
        BEGIN;
        DELETE FROM _accelerometer;
        DELETE FROM _devices;
        INSERT INTO _devices (device_id, group_name, device, first_seen, last_seen, last_t, samples)
            SELECT value, 'bench', printf('bench-%04d', value), \(Self.start), \(Self.start),
                \(Self.start) + (rows - 1) * \(Self.step), rows
            FROM (SELECT value, iif(value = 1, \(longestRows), \(shareRows)) AS rows
                FROM generate_series(1, \(Self.devices)));
        INSERT INTO _accelerometer (device_id, t, x, y, z)
            SELECT device_id, \(Self.start) + value * \(Self.step), (value * 7919 % 20001 - 10000) / 10000.0,
                (value * 104729 % 20001 - 10000) / 10000.0, (value * 1299709 % 20001 - 10000) / 10000.0
            FROM _devices CROSS JOIN generate_series(0, samples - 1) ORDER BY device_id;
        COMMIT;
        PRAGMA journal_mode = WAL;
        """
    }

    private func checkRoom(in folder: String) throws {
        let free = try FileManager.default.attributesOfFileSystem(forPath: folder)[.systemFreeSize] as? Int ?? 0
        // Measured: 46 bytes a row.
        let needed = rows * 60
        guard free >= needed else {
            throw Failure(
                "\(folder) has \(free >> 20) MB of free space, but \(needed >> 20) MB are needed: free some space, or "
                    + "use --rows with less than \(rows)")
        }
    }
}
