import Foundation
import LockstepStore

/// A large store of made-up accelerations: 1,000 devices at 100 Hz, of which the first has 8.64 % of the rows (a day of
/// 100 million) and the others equal shares, all from the same time on.
struct QueryStore {
    let path: String
    let rows: Int

    static let devices = 1000
    /// The device with most rows.
    static let longest = "bench-0001"
    /// When all samples begin, in µs since 1970: 2026-01-01T00:00:00Z.
    static let start: Int64 = 1_767_225_600_000_000
    /// Between samples, in µs.
    private static let step: Int64 = 10_000

    /// Rows of ``longest``.
    var longestRows: Int { rows * 864 / 10_000 }
    /// Rows of each other device.
    private var shareRows: Int { (rows - longestRows) / (Self.devices - 1) }

    /// The store of so many rows in `folder`, which is made and filled where it is not there yet, and stays.
    init(rows: Int, in folder: String) throws {
        self.rows = rows
        path = folder + "/query-\(rows).db"
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try checkRoom(in: folder)
        try fill()
    }

    /// Under another name until it is complete, so that one that was interrupted is made anew.
    private func fill() throws {
        let unfinished = path + ".unfinished"
        for file in [unfinished, unfinished + "-wal", unfinished + "-shm"] {
            try? FileManager.default.removeItem(atPath: file)
        }
        FileHandle.standardError.write(Data("fills \(path) with \(rows) rows, once\n".utf8))
        // Makes the tables, and closes the file.
        _ = try SQLiteStore(path: unfinished)
        try Launched.run("sqlite3", ["-bail", unfinished, sql])
        try FileManager.default.moveItem(atPath: unfinished, toPath: path)
    }

    /// Rows come in the order of the key, without a journal: what is left half done is thrown away.
    private var sql: String {
        """
        PRAGMA journal_mode = OFF;
        PRAGMA synchronous = OFF;
        BEGIN;
        INSERT INTO devices (device_id, group_name, device, first_seen, last_seen, last_t, samples)
            SELECT value, 'bench', printf('bench-%04d', value), \(Self.start), \(Self.start),
                \(Self.start) + (rows - 1) * \(Self.step), rows
            FROM (SELECT value, iif(value = 1, \(longestRows), \(shareRows)) AS rows
                FROM generate_series(1, \(Self.devices)));
        INSERT INTO accelerometer (device_id, t, x, y, z)
            SELECT device_id, \(Self.start) + value * \(Self.step), (value * 7919 % 20001 - 10000) / 10000.0,
                (value * 104729 % 20001 - 10000) / 10000.0, (value * 1299709 % 20001 - 10000) / 10000.0
            FROM devices CROSS JOIN generate_series(0, samples - 1) ORDER BY device_id;
        COMMIT;
        PRAGMA journal_mode = WAL;
        """
    }

    private func checkRoom(in folder: String) throws {
        let free = try FileManager.default.attributesOfFileSystem(forPath: folder)[.systemFreeSize] as? Int ?? 0
        // Measured: 47 bytes a row.
        let needed = rows * 60
        guard free >= needed else {
            throw Failure(
                "\(folder) has room for \(free >> 20) MB, and \(needed >> 20) MB are needed: free some, or set "
                    + "LOCKSTEP_BENCH_ROWS to fewer than \(rows)")
        }
    }
}
