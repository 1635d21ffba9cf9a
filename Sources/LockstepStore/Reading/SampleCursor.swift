import LockstepModel
import LockstepSQLite

/// Reads stored samples: all samples, or only the newest sample of each device.
///
/// It reads the table of merged rows and the other rows separately, and merges them by time. This is faster than the
/// view of both, which SQLite evaluates with a coroutine for each row.
final class SampleCursor: QueryCursor {
    /// The number of devices up to which the logs are searched for each device. For more, one scan is faster.
    private static let maxSearches = 8

    private let database: SQLiteDatabase
    private let select: SQLiteStatement
    private let log: LogReader?
    private let kinds: [SensorStream.Kind]
    private let times: Range<Int64>
    private let newestOnly: Bool
    /// The rows of the current device in the logs and runs that were not returned yet.
    private var logRows: ArraySlice<LogReader.Row> = []
    /// The next row of the current device in the table.
    private var merged: LogReader.Row?
    /// The newest row of each device in the logs, if they were scanned.
    private var newestInLogs: [Int64: LogReader.Row]?

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, newestOnly: Bool, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        guard let columns = try MergedColumns(of: stream, in: database)?.list else { return nil }
        self.database = database
        self.times = times
        self.newestOnly = newestOnly
        select = try database.prepare(Self.selectSQL(columns, of: stream, newestOnly: newestOnly))
        try select.bind(times.lowerBound, at: 2)
        try select.bind(times.upperBound, at: 3)
        log = try LogReader(stream, in: database)
        kinds = stream.columns.map(\.kind)
    }

    func prepare(devices: Int) throws(SQLiteError) {
        guard newestOnly, newestInLogs == nil, devices > Self.maxSearches else { return }
        // Later calls may see newer rows in the table. The newer row of both is the result, so this stays correct.
        newestInLogs = try log?.newest(times) ?? [:]
    }

    func start(device: Int64) throws(SQLiteError) {
        reset()
        try select.bind(device, at: 1)
        // Both reads need the same snapshot: a merge between them would hide rows or show them twice. The statement
        // keeps the snapshot after the end of the transaction.
        let isOutermost = !database.isInTransaction
        if isOutermost { try database.execute("BEGIN") }
        defer { if isOutermost { try? database.execute("COMMIT") } }
        merged = try nextMerged()
        if let newestInLogs {
            let recent = newestInLogs[device]
            let known = [merged?.time, recent?.time].compactMap(\.self).max()
            let newest = try log?.newestInRuns(of: device, times, after: known) ?? recent
            logRows = newest.map { [$0] } ?? []
        } else {
            let rows = try log?.rows(of: device, times) ?? []
            logRows = newestOnly ? rows.suffix(1) : rows[...]
        }
        guard newestOnly, let stored = merged, let recent = logRows.first else { return }
        if stored.time < recent.time { merged = nil } else { logRows = [] }
    }

    func reset() {
        select.reset()
        merged = nil
        logRows = []
    }

    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        if let stored = merged, logRows.first.map({ stored.time < $0.time }) ?? true {
            merged = try nextMerged()
            return (Timestamp(microseconds: stored.time), stored.values)
        }
        return logRows.popFirst().map { (Timestamp(microseconds: $0.time), $0.values) }
    }

    private func nextMerged() throws(SQLiteError) -> LogReader.Row? {
        guard try select.step() else { return nil }
        return (select.int64(at: 0), kinds.indices.map { kinds[$0].readStored(select, at: $0 + 1) })
    }

    /// Returns the SQL of the SELECT statement. SQLite finds the newest sample by the primary key, without reading
    /// other rows.
    static func selectSQL(_ columns: String, of stream: SensorStream, newestOnly: Bool) -> String {
        """
        SELECT t, \(columns) FROM \(stream.mergedTable)
        WHERE device_id = ? AND t >= ? AND t < ? ORDER BY t\(newestOnly ? " DESC LIMIT 1" : "")
        """
    }
}
