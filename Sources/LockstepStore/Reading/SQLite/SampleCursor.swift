import LockstepModel
import LockstepSQLite

/// Reads stored samples: all samples, or only the newest sample of each device.
///
/// It reads the table and the samples that wait separately, and merges them by time. This is faster than the view of both.
final class SampleCursor: QueryCursor {
    private let database: SQLiteDatabase
    private let select: SQLiteStatement
    private let waiting: WaitingReader.Stream?
    private let kinds: [SensorStream.Kind]
    private let times: Range<Int64>
    private let newestOnly: Bool
    /// The waiting samples of the current device that were not returned yet.
    private var waitingRows: ArraySlice<WaitingReader.Row> = []
    /// The next row of the current device in the table.
    private var stored: WaitingReader.Row?

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, newestOnly: Bool, in reader: SQLiteDriver
    ) throws(SQLiteError) {
        database = reader.database
        guard let columns = try RowColumns(of: stream, in: database)?.list else { return nil }
        self.times = times
        self.newestOnly = newestOnly
        select = try database.prepare(Self.selectSQL(columns, of: stream, newestOnly: newestOnly))
        try select.bind(times.lowerBound, at: 2)
        try select.bind(times.upperBound, at: 3)
        waiting = try reader.waiting.stream(stream)
        kinds = stream.columns.map(\.kind)
    }

    func start(device: Int64) throws(SQLiteError) {
        reset()
        try select.bind(device, at: 1)
        // Both reads need the same snapshot: a merge between them would hide rows or show them twice. The statement
        // keeps the snapshot after the end of the transaction.
        let isOutermost = !database.isInTransaction
        if isOutermost { try database.execute("BEGIN") }
        defer { if isOutermost { try? database.execute("COMMIT") } }
        stored = try nextStored()
        guard newestOnly else {
            waitingRows = try waiting?.rows(of: device, times)[...] ?? []
            return
        }
        guard let recent = try waiting?.newest(of: device, times) else { return }
        if let row = stored, row.time >= recent.time { return }
        stored = nil
        waitingRows = [recent]
    }

    func reset() {
        select.reset()
        stored = nil
        waitingRows = []
    }

    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        if let row = stored, waitingRows.first.map({ row.time < $0.time }) ?? true {
            stored = try nextStored()
            return (Timestamp(microseconds: row.time), row.values)
        }
        return waitingRows.popFirst().map { (Timestamp(microseconds: $0.time), $0.values) }
    }

    private func nextStored() throws(SQLiteError) -> WaitingReader.Row? {
        guard try select.step() else { return nil }
        return (select.int64(at: 0), kinds.indices.map { kinds[$0].read(select, at: $0 + 1) })
    }

    /// Returns the SQL of the SELECT statement. SQLite finds the newest sample by the primary key, without reading
    /// other rows.
    static func selectSQL(_ columns: String, of stream: SensorStream, newestOnly: Bool) -> String {
        """
        SELECT t, \(columns) FROM \(stream.rowTable)
        WHERE device_id = ? AND t >= ? AND t < ? ORDER BY t\(newestOnly ? " DESC LIMIT 1" : "")
        """
    }
}

/// A cursor over the rows of a query, one device at a time.
protocol QueryCursor: AnyObject {
    /// Positions the cursor before the first row of a device.
    func start(device: Int64) throws(SQLiteError)
    /// Returns the next row of the device in order of time, or nil after the last row.
    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])?
    /// Stops reading, which releases the snapshot of the database.
    func reset()
}
