import LockstepModel
import LockstepSQLite

/// Reads samples as they are stored: all, or the newest of each device.
final class SampleCursor: QueryCursor {
    private let select: SQLiteStatement
    private let kinds: [SensorStream.Kind]

    /// Nil if the store has no table of the stream yet.
    init?(
        _ stream: SensorStream, _ times: Range<Int64>, newestOnly: Bool, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        guard let columns = try StoreSchema.selectList(of: stream, in: database) else { return nil }
        select = try database.prepare(Self.select(columns, of: stream, newestOnly: newestOnly))
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

    /// The newest sample is the last of the device's part of the primary key: nothing but it is read.
    static func select(_ columns: String, of stream: SensorStream, newestOnly: Bool) -> String {
        """
        SELECT t, \(columns) FROM \(stream.table)
        WHERE device_id = ? AND t >= ? AND t < ? ORDER BY t\(newestOnly ? " DESC LIMIT 1" : "")
        """
    }
}
