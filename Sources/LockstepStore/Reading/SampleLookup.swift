import LockstepModel
import LockstepSQLite

/// A comparison of samples of one stream with the merged rows of the same device and time.
struct SampleLookup {
    private let stream: SensorStream
    /// Selects the sample at one time.
    private let select: SQLiteStatement
    /// Selects the samples of a time span, in order of time.
    private let span: SQLiteStatement

    /// Creates a lookup, or returns nil if the stream's table does not exist.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        guard let names = try MergedColumns(of: stream, in: database)?.list else { return nil }
        let table = stream.mergedTable
        select = try database.prepare(
            "SELECT \(names) FROM \(table) WHERE device_id = ? AND t = ?", persistent: true)
        span = try database.prepare(
            "SELECT \(names), t FROM \(table) WHERE device_id = ? AND t BETWEEN ? AND ? ORDER BY t",
            persistent: true)
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

    /// Returns the indexes of those `rows` of `block` that are stored with different values, and the stored values.
    ///
    /// It scans the table once from the first to the last time. The samples of a batch are nearly always adjacent in
    /// the table, so the scan takes about as long as the lookup of a single row.
    func differences(
        _ rows: Range<Int>, of block: SampleBlock, device: Int64
    ) throws(SQLiteError) -> [(index: Int, stored: [Double])] {
        let times = block.times[rows]
        guard zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }) else {
            return try differencesByLookup(rows, of: block, device: device)
        }
        var found: [(index: Int, stored: [Double])] = []
        try span.bind(device, at: 1)
        try span.bind(block.times[rows.lowerBound], at: 2)
        try span.bind(block.times[rows.upperBound - 1], at: 3)
        defer { span.reset() }
        var index = rows.lowerBound
        var otherRows = 0
        let timeColumn = stream.columns.count
        while index < rows.upperBound, try span.step() {
            let stored = span.int64(at: timeColumn)
            while index < rows.upperBound, block.times[index] < stored { index += 1 }
            guard index < rows.upperBound, block.times[index] == stored else {
                otherRows += 1
                // There may be millions of other rows between the samples: switch to one lookup per sample.
                if otherRows > 4 * rows.count { return try differencesByLookup(rows, of: block, device: device) }
                continue
            }
            if let values = difference(of: index, in: block, from: span) { found.append((index, values)) }
            index += 1
        }
        return found
    }

    private func differencesByLookup(
        _ rows: Range<Int>, of block: SampleBlock, device: Int64
    ) throws(SQLiteError) -> [(index: Int, stored: [Double])] {
        var found: [(index: Int, stored: [Double])] = []
        for index in rows {
            guard case .different(let stored) = try find(index, of: block, device: device) else { continue }
            found.append((index, stored))
        }
        return found
    }

    /// Returns the values of the current row of `statement`, or nil if they equal the values of sample `index`.
    private func difference(of index: Int, in block: SampleBlock, from statement: SQLiteStatement) -> [Double]? {
        for (number, column) in stream.columns.enumerated() {
            let stored = column.kind.readStored(statement, at: number)
            let received = column.kind.normalized(block.columns[number][index])
            guard stored == received || (stored.isNaN && received.isNaN) else {
                return stream.columns.enumerated().map { number, column in column.kind.readStored(statement, at: number)
                }
            }
        }
        return nil
    }
}
