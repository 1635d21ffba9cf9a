import Glibc
import LockstepModel
import LockstepSQLite

/// A read-only connection to an SQLite store. It can be used while a collector writes to the store.
final class SQLiteDriver: StoreDriver {
    let path: String
    let database: SQLiteDatabase
    let source: any StoreSource
    /// The cached ids of devices. The id of a device never changes.
    private var ids: [DeviceAddress: Int64] = [:]
    /// The cached estimates of clocks that wait.
    var cachedClocks: WaitingClocks?
    /// The samples that are not in the tables yet.
    let waiting: WaitingReader
    /// The function of averages and envelopes in SQL, which the first query of them creates.
    private var sums: ColumnSums?
    /// Whether averages and envelopes use the summaries of minutes. Tests compare both.
    var usesSummaries = true
    var summarised: Int64 = 0

    /// Opens the store at `path`.
    /// - Throws: ``StoreError`` if the file does not exist, is not a store, or has another schema version.
    init(path: String) throws(StoreError) {
        self.path = path
        guard !isFolder(path) else {
            throw StoreError(.notAStore, "\(path) is a folder: specify the path of a store in it")
        }
        guard access(path, F_OK) == 0 else {
            throw StoreError(
                .missing, "there is no store at \(path): check the path, or start a collector with this store")
        }
        do {
            database = try SQLiteDatabase(path: path, mode: .readOnly)
            source = SQLiteSource(database)
            try StoreSchema.check(database)
            waiting = try WaitingReader(in: database)
        } catch let error as SQLiteError where error.isReadOnlyOrCannotOpen && access(path, R_OK) == 0 {
            // A file in WAL mode needs its shared memory, also for readers.
            throw StoreError(
                .notAllowed,
                "cannot read \(path): this user may read the file, but there is no file \(path)-shm, and this user cannot "
                    + "create it in this folder. If this is a copy, make it with 'lockstep backup', or move it to a folder that "
                    + "this user can write. If it is the store of a collector, start the collector once (\(error))")
        } catch let error as SQLiteError where error.isReadOnlyOrCannotOpen {
            throw StoreError(
                .notAllowed,
                "cannot read \(path): give this user read access to the file and its folder. If there is no file "
                    + "\(path)-shm, start the collector once, which creates it (\(error))")
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// Returns the function of averages and envelopes in SQL.
    func columnSums() throws(SQLiteError) -> ColumnSums {
        if let sums { return sums }
        let created = try ColumnSums(in: database)
        sums = created
        return created
    }

    /// Runs SQLite's integrity check, which reads the whole file.
    func integrityCheck() throws -> [String] {
        var findings: [String] = []
        do {
            let check = try database.prepare("PRAGMA quick_check")
            while try check.step() {
                if let finding = check.text(at: 0), finding != "ok" { findings.append(finding) }
            }
        } catch {
            // Severe damage makes the check itself fail.
            guard error.isCorrupt else { throw StoreError(error, path: path) }
            findings.append(error.message)
        }
        return findings
    }

    func reading<Result>(
        until cancellation: QueryCancellation?, _ body: () throws -> Result
    ) throws(StoreError) -> Result {
        try converting {
            try check(cancellation)
            return try database.interruptible(by: cancellation?.interruption) {
                // Transactions cannot be nested.
                try database.isInTransaction ? body() : database.transaction(.deferred, body)
            }
        }
    }

    /// During a long snapshot, the write-ahead log of the store grows, because it cannot be checkpointed.
    func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try database.transaction(.deferred, body) } catch let error as SQLiteError {
            throw StoreError(error, path: path)
        }
    }

    /// - Throws: ``StoreError`` if the query was cancelled. Short statements end before SQLite checks it.
    func check(_ cancellation: QueryCancellation?) throws(StoreError) {
        guard cancellation?.isCancelled != true else {
            throw StoreError(.cancelled, "the query of \(path) was cancelled")
        }
    }

    /// Runs `body` and converts its errors to ``StoreError``, without a transaction: during a long query, it would prevent
    /// checkpoints and let the write-ahead log grow.
    func converting<Result>(_ body: () throws -> Result) throws(StoreError) -> Result {
        do { return try body() } catch { throw StoreError(error, path: path) }
    }

    func id(of device: DeviceAddress) throws -> Int64? {
        if let id = ids[device] { return id }
        let select = try database.prepare("SELECT device_id FROM _devices WHERE group_name = ? AND device = ?")
        try select.bind(device.group.rawValue, at: 1)
        try select.bind(device.device.rawValue, at: 2)
        guard try select.step() else { return nil }
        ids[device] = select.int64(at: 0)
        return ids[device]
    }

    func hasRows(of kind: RefinedKind) throws -> Bool { try hasTable(kind.view) }

    /// Returns whether the store has a table or a view.
    private func hasTable(_ name: String) throws(SQLiteError) -> Bool {
        try !StoreSchema.columns(of: name, in: database).isEmpty
    }

    func samples(of stream: SensorStream, _ device: Int64, _ times: Range<Int64>) throws -> String? {
        guard try hasTable(stream.table) else { return nil }
        return "\(stream.table) WHERE device_id = \(device) AND t >= \(times.lowerBound) AND t < \(times.upperBound)"
    }

    func newestTimes(of stream: SensorStream, _ devices: [DeviceRecord]) throws -> [Int64: Int64] {
        try NewestSamples(reader: self).times(of: stream)
    }

    func newestSamples(
        of stream: SensorStream, knowing column: String, _ devices: [DeviceRecord]
    ) throws -> [Int64: DeviceOverview.Sample] {
        try NewestSamples(reader: self).rows(of: stream, knowing: column).mapValues {
            DeviceOverview.Sample(time: Timestamp(microseconds: $0.time), values: $0.values)
        }
    }

    func counts(of stream: SensorStream) throws -> [Int64: (samples: Int64, conflicts: Int64)] {
        var counts = try waiting.stream(stream)?.counts().mapValues { (samples: $0, conflicts: Int64(0)) } ?? [:]
        if try hasTable(stream.rowTable) {
            for (device, count) in try rows(countedIn: stream.rowTable) {
                counts[device, default: (0, 0)].samples += count
            }
        }
        let isOwn = "WHERE stream = \(source.literal(stream.name))"
        for (device, count) in try rows(countedIn: "conflicts \(isOwn)") {
            counts[device, default: (0, 0)].conflicts = count
        }
        return counts
    }

    private func rows(countedIn table: String) throws -> [(device: Int64, count: Int64)] {
        try source.rows("SELECT device_id, count(*) FROM \(table) GROUP BY device_id") { row throws(StoreError) in
            (device: row.int64(at: 0), count: row.int64(at: 1))
        }
    }

    func conflicts(
        of device: DeviceRecord, _ times: Range<Int64>, limit: Int
    ) throws -> [DeviceHealth.Conflict] {
        try source.rows(
            """
            SELECT stream, t, stored, received, at FROM conflicts
            WHERE device_id = \(device.id) AND t >= \(times.lowerBound) AND t < \(times.upperBound)
            ORDER BY at DESC, t DESC, stream, received LIMIT \(limit)
            """
        ) { row throws(StoreError) in
            DeviceHealth.Conflict(
                stream: row.text(at: 0) ?? "", time: Timestamp(microseconds: row.int64(at: 1)),
                stored: row.text(at: 2) ?? "", received: row.text(at: 3) ?? "",
                receivedAt: Timestamp(microseconds: row.int64(at: 4)))
        }
    }
}
