import Glibc
public import LockstepModel
import LockstepSQLite

/// A row of refined data.
public struct RefinedRow: Sendable {
    /// The time, in µs.
    public var time: Int64
    /// The values in the order of the kind's columns; NaN stands for an unknown value, 1 and 0 for a flag.
    public var values: [Double]

    /// Creates a row.
    public init(time: Int64, values: [Double]) {
        self.time = time
        self.values = values
    }
}

/// Writes the refined data of one device.
///
/// Rows become visible with ``complete(first:last:)``. A run that does not get there leaves the previous rows valid.
public protocol RefinedWriting: AnyObject {
    /// Writes rows. They are not visible yet.
    func write(_ rows: some Sequence<RefinedRow>) throws(StoreError)

    /// Makes the rows valid from `first` (inclusive) to `last` (exclusive), in µs, instead of those of previous runs.
    func complete(first: Int64, last: Int64) throws(StoreError)

    /// Removes the rows of this run, unless it is complete.
    func discard() throws(StoreError)
}

/// Writes the refined data of one device to an SQLite store, beside a running collector.
///
/// Rows are written in short transactions and become visible with ``complete(first:last:)``. A run that does not get
/// there leaves the previous rows valid; a later run removes its rows.
public final class RefinedRun: RefinedWriting {
    /// The maximum number of rows of one transaction.
    private static let maxRows = 500

    private let path: String
    private let kind: RefinedKind
    private let database: SQLiteDatabase
    private let device: Int64
    private let run: Int64
    private let insert: SQLiteStatement

    /// Begins a run.
    /// - Parameter parameters: the parameters of the method, as JSON.
    /// - Throws: ``StoreError`` if the store cannot be written or the device is unknown.
    public init(
        path: String, device address: DeviceAddress, kind: RefinedKind, method: String, version: Int,
        parameters: String, now: Timestamp
    ) throws(StoreError) {
        self.path = path
        self.kind = kind
        do {
            database = try SQLiteDatabase(path: path, mode: .readWrite, busyTimeout: 30_000)
            try StoreSchema.check(database)
            try database.keepLogFiles()
            try RefinedSchema.create(in: database)
            let select = try database.prepare(
                "SELECT device_id FROM _devices WHERE group_name = ? AND device = ?")
            try select.bind(address.group.rawValue, at: 1)
            try select.bind(address.device.rawValue, at: 2)
            guard try select.step() else { throw StoreError(.other, "no device '\(address)' in \(path)") }
            let device = select.int64(at: 0)
            select.reset()
            let begin = try database.prepare(
                """
                INSERT INTO refined_runs (kind, device_id, method, version, parameters, created)
                VALUES ('\(kind.rawValue)', ?, ?, ?, ?, ?)
                """)
            try begin.bind(device, at: 1)
            try begin.bind(method, at: 2)
            try begin.bind(Int64(version), at: 3)
            try begin.bind(parameters, at: 4)
            try begin.bind(now.microseconds, at: 5)
            try begin.run()
            self.device = device
            run = database.lastInsertRowID
            insert = try database.prepare(
                "INSERT INTO \(kind.rowTable) VALUES (?,?\(String(repeating: ",?", count: kind.columns)))",
                persistent: true)
            // Runs that were interrupted. A run that takes longer than a day is not expected.
            try removeRows(ofRuns: "is_complete = 0 AND created < \(now.microseconds - 86_400_000_000)")
            try removeReplacedRows()
        } catch { throw StoreError(error, path: path) }
    }

    /// Writes rows. They are not visible yet.
    /// - Precondition: each row has a value for each column of the kind.
    public func write(_ rows: some Sequence<RefinedRow>) throws(StoreError) {
        do {
            var iterator = rows.makeIterator()
            var isAtEnd = false
            // Short transactions let a collector commit in between.
            while !isAtEnd {
                try shortTransaction {
                    for _ in 0..<Self.maxRows {
                        guard let row = iterator.next() else {
                            isAtEnd = true
                            return
                        }
                        try write(row)
                    }
                }
            }
        } catch { throw StoreError(error, path: path) }
    }

    private func write(_ row: RefinedRow) throws(SQLiteError) {
        precondition(row.values.count == kind.columns, "a refined row has a value for each column")
        try insert.bind(run, at: 1)
        try insert.bind(row.time, at: 2)
        // SQLite stores NaN as null, and whole numbers in integer columns as integers.
        for (index, value) in row.values.enumerated() { try insert.bind(value, at: 3 + index) }
        try insert.run()
    }

    /// Makes the rows valid from `first` (inclusive) to `last` (exclusive), in µs, instead of those of previous runs.
    public func complete(first: Int64, last: Int64) throws(StoreError) {
        do {
            try database.transaction { try replaceRanges(first, last) }
        } catch { throw StoreError(error, path: path) }
        // The new rows are valid now. If this fails, the next run removes the replaced ones.
        try? removeReplacedRows()
    }

    /// Removes the rows of this run, unless it is complete.
    public func discard() throws(StoreError) {
        do { try removeRows(ofRuns: "run_id = \(run) AND is_complete = 0") } catch {
            throw StoreError(error, path: path)
        }
    }

    private func replaceRanges(_ first: Int64, _ last: Int64) throws(SQLiteError) {
        let others = """
            run_id IN (SELECT run_id FROM refined_runs WHERE kind = '\(kind.rawValue)' AND device_id = \(device))
            """
        // The part of a range behind the new one, then the part before it, then ranges that are replaced entirely.
        try database.execute(
            """
            INSERT OR REPLACE INTO _refined_ranges SELECT run_id, \(last), last FROM _refined_ranges
                WHERE \(others) AND first < \(last) AND last > \(last);
            UPDATE _refined_ranges SET last = \(first) WHERE \(others) AND first < \(first) AND last > \(first);
            DELETE FROM _refined_ranges WHERE \(others) AND first >= \(first) AND first < \(last);
            INSERT INTO _refined_ranges VALUES (\(run), \(first), \(last));
            UPDATE refined_runs SET is_complete = 1 WHERE run_id = \(run);
            """)
    }

    /// Runs a transaction, and then leaves the store to the collector for as long. SQLite's lock is not fair: without this, a
    /// collector might wait until its timeout.
    private func shortTransaction(_ body: () throws -> Void) throws {
        let clock = ContinuousClock()
        let duration = try clock.measure { try database.transaction { try body() } }
        usleep(useconds_t(max(1000, min(500_000, duration / .microseconds(1)))))
    }

    /// Removes the rows of complete runs of which no range is valid any more.
    private func removeReplacedRows() throws {
        try removeRows(ofRuns: "is_complete = 1 AND run_id NOT IN (SELECT run_id FROM _refined_ranges)")
    }

    /// Removes runs of this kind and their rows in short transactions.
    private func removeRows(ofRuns condition: String) throws {
        let condition = "kind = '\(kind.rawValue)' AND \(condition)"
        let runs = "SELECT run_id FROM refined_runs WHERE \(condition)"
        let delete = try database.prepare(
            """
            DELETE FROM \(kind.rowTable) WHERE (run_id, t) IN
                (SELECT run_id, t FROM \(kind.rowTable) WHERE run_id IN (\(runs)) LIMIT \(Self.maxRows))
            """)
        repeat { try shortTransaction { try delete.run() } } while database.changes > 0
        try database.execute("DELETE FROM refined_runs WHERE \(condition)")
    }
}
