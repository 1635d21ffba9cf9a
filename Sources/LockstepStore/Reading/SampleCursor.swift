import LockstepModel
import LockstepSQLite

/// Reads stored samples: all samples, or only the newest sample of each device.
final class SampleCursor: QueryCursor {
    private let select: SQLiteStatement
    private let kinds: [SensorStream.Kind]

    /// Creates a cursor, or returns nil if the store has no table for the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, newestOnly: Bool, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        guard let columns = try StoreSchema.selectList(of: stream, in: database) else { return nil }
        select = try database.prepare(Self.selectSQL(columns, of: stream, newestOnly: newestOnly))
        try select.bind(times.lowerBound, at: 2)
        try select.bind(times.upperBound, at: 3)
        kinds = stream.columns.map(\.kind)
    }

    func start(device: Int64) throws(SQLiteError) {
        reset()
        try select.bind(device, at: 1)
    }

    func reset() { select.reset() }

    func next() throws(SQLiteError) -> (time: Timestamp, values: [Double])? {
        guard try select.step() else { return nil }
        let values = kinds.indices.map { kinds[$0].read(select, at: $0 + 1) }
        return (Timestamp(microseconds: select.int64(at: 0)), values)
    }

    /// Returns the SQL of the SELECT statement. SQLite finds the newest sample by the primary key, without reading
    /// other rows.
    static func selectSQL(_ columns: String, of stream: SensorStream, newestOnly: Bool) -> String {
        """
        SELECT t, \(columns) FROM \(stream.table)
        WHERE device_id = ? AND t >= ? AND t < ? ORDER BY t\(newestOnly ? " DESC LIMIT 1" : "")
        """
    }
}
