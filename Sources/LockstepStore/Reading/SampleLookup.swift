import LockstepModel
import LockstepSQLite

/// Finds the stored sample of a (device, time) in one stream's table.
struct SampleLookup {
    private let stream: SensorStream
    private let select: SQLiteStatement

    /// Nil if there is no such table.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        guard let names = try StoreSchema.selectList(of: stream, in: database) else { return nil }
        select = try database.prepare(
            "SELECT \(names) FROM \(stream.table) WHERE device_id = ? AND t = ?", persistent: true)
    }

    enum Finding: Equatable {
        case absent
        /// Stored with the same values, where null equals null.
        case same
        /// Stored with these values.
        case different([Double])
    }

    /// Compares sample `index` of `block` with what is stored of the device at its time.
    func find(_ index: Int, of block: SampleBlock, device: Int64) throws(SQLiteError) -> Finding {
        try select.bind(device, at: 1)
        try select.bind(block.times[index], at: 2)
        guard try select.step() else { return .absent }
        defer { select.reset() }
        for (number, column) in stream.columns.enumerated() {
            let stored = column.kind.read(select, at: number)
            let given = column.kind.normalized(block.columns[number][index])
            guard stored == given || (stored.isNaN && given.isNaN) else {
                return .different(
                    stream.columns.enumerated().map { number, column in column.kind.read(select, at: number) })
            }
        }
        return .same
    }
}
