import LockstepModel
import LockstepSQLite

/// Finds the stored sample of a (device, time) in one stream's table.
struct SampleLookup {
    private let stream: SensorStream
    private let select: SQLiteStatement
    private let span: SQLiteStatement

    /// Nil if there is no such table.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        guard let names = try StoreSchema.selectList(of: stream, in: database) else { return nil }
        select = try database.prepare(
            "SELECT \(names) FROM \(stream.table) WHERE device_id = ? AND t = ?", persistent: true)
        span = try database.prepare(
            "SELECT \(names), t FROM \(stream.table) WHERE device_id = ? AND t BETWEEN ? AND ? ORDER BY t",
            persistent: true)
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
        return difference(of: index, in: block, from: select).map(Finding.different) ?? .same
    }

    /// Those of the samples `rows` of `block` that are stored with other values, with these.
    ///
    /// Reads the table once from the first to the last, which is as fast as a lookup of one row where, as in nearly
    /// every batch, the samples lie side by side.
    func differences(
        _ rows: Range<Int>, of block: SampleBlock, device: Int64
    ) throws(SQLiteError) -> [(index: Int, stored: [Double])] {
        let times = block.times[rows]
        guard zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }) else {
            return try differences(byOne: rows, of: block, device: device)
        }
        var found: [(index: Int, stored: [Double])] = []
        try span.bind(device, at: 1)
        try span.bind(block.times[rows.lowerBound], at: 2)
        try span.bind(block.times[rows.upperBound - 1], at: 3)
        defer { span.reset() }
        var index = rows.lowerBound
        var strangers = 0
        let time = stream.columns.count
        while index < rows.upperBound, try span.step() {
            let stored = span.int64(at: time)
            while index < rows.upperBound, block.times[index] < stored { index += 1 }
            guard index < rows.upperBound, block.times[index] == stored else {
                strangers += 1
                // Others lie in between, perhaps millions: then each is better looked up.
                if strangers > 4 * rows.count { return try differences(byOne: rows, of: block, device: device) }
                continue
            }
            if let values = difference(of: index, in: block, from: span) { found.append((index, values)) }
            index += 1
        }
        return found
    }

    private func differences(
        byOne rows: Range<Int>, of block: SampleBlock, device: Int64
    ) throws(SQLiteError) -> [(index: Int, stored: [Double])] {
        var found: [(index: Int, stored: [Double])] = []
        for index in rows {
            guard case .different(let stored) = try find(index, of: block, device: device) else { continue }
            found.append((index, stored))
        }
        return found
    }

    /// The values of the row that `statement` has reached, if sample `index` has others.
    private func difference(of index: Int, in block: SampleBlock, from statement: SQLiteStatement) -> [Double]? {
        for (number, column) in stream.columns.enumerated() {
            let stored = column.kind.read(statement, at: number)
            let given = column.kind.normalized(block.columns[number][index])
            guard stored == given || (stored.isNaN && given.isNaN) else {
                return stream.columns.enumerated().map { number, column in column.kind.read(statement, at: number) }
            }
        }
        return nil
    }
}
