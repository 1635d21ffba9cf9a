import LockstepModel
import LockstepSQLite

/// A comparison of samples of one stream with the rows of its table of the same device and time.
struct SampleLookup {
    private let stream: SensorStream
    /// Selects the sample at one time.
    private let select: SQLiteStatement
    /// Creates a lookup, or returns nil if the stream's table does not exist.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        guard let names = try RowColumns(of: stream, in: database)?.list else { return nil }
        let table = stream.rowTable
        select = try database.prepare(
            "SELECT \(names) FROM \(table) WHERE device_id = ? AND t = ?", persistent: true)
    }

    /// The result of a comparison.
    enum Finding: Equatable {
        /// No sample is stored at that time.
        case absent
        /// A sample with equal values is stored. Null equals null.
        case same
        /// A sample with these different values is stored.
        case different([Double])
    }

    /// Compares sample `index` of `block` with the stored sample of the device at the same time.
    func find(_ index: Int, of block: SampleBlock, device: Int64) throws(SQLiteError) -> Finding {
        try select.bind(device, at: 1)
        try select.bind(block.times[index], at: 2)
        guard try select.step() else { return .absent }
        defer { select.reset() }
        return difference(of: index, in: block, from: select).map(Finding.different) ?? .same
    }

    /// Returns the values of the current row of `statement`, or nil if they equal the values of sample `index`.
    private func difference(of index: Int, in block: SampleBlock, from statement: SQLiteStatement) -> [Double]? {
        for (number, column) in stream.columns.enumerated() {
            let stored = column.kind.read(statement, at: number)
            let received = column.kind.normalized(block.columns[number][index])
            guard stored == received || (stored.isNaN && received.isNaN) else {
                return stream.columns.enumerated().map { number, column in column.kind.read(statement, at: number) }
            }
        }
        return nil
    }
}
