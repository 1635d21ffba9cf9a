import LockstepModel
import LockstepSQLite

/// An INSERT statement for several rows of a log's table. The rows belong to one stream of one device.
struct LogRowInsert {
    /// The available numbers of rows per statement, in descending order.
    static let sizes = [20, 5, 1]
    /// The number of columns of a row before its values: key, time, epoch, batch number and delay.
    private static let leading = 5

    /// The number of rows per execution.
    let rows: Int
    private let shape: LogShape
    private let statement: SQLiteStatement

    init(_ shape: LogShape, of log: LogNumber, rows: Int, in database: SQLiteDatabase) throws(SQLiteError) {
        self.shape = shape
        self.rows = rows
        let names = ["id", "after", "epoch_id", "seq", "delay"] + shape.columns
        let width = Self.leading + shape.values
        let tuples = (0..<rows).map { row in
            let values = (1...width).map { "?\(row * width + $0)" }
            return "(\(values.joined(separator: ", ")))"
        }
        statement = try database.prepare(
            "INSERT INTO \(shape.table(of: log)) (\(names.joined(separator: ", "))) VALUES \(tuples.joined(separator: ", "))",
            persistent: true)
    }

    /// Prepares the statements for all numbers of rows.
    static func all(
        _ shape: LogShape, of log: LogNumber, in database: SQLiteDatabase
    ) throws(SQLiteError) -> [LogRowInsert] {
        var inserts: [LogRowInsert] = []
        for rows in sizes { inserts.append(try LogRowInsert(shape, of: log, rows: rows, in: database)) }
        return inserts
    }

    /// Inserts ``rows`` samples of a block.
    /// - Parameters:
    ///   - indexes: the indexes of the samples in `block`.
    ///   - key: the key of the first row.
    ///   - marks: the batches that begin at some of these indexes, in the order of the indexes.
    ///   - next: the position in `marks` of the next batch.
    func run(
        _ indexes: some Sequence<Int>, of block: SampleBlock, to target: LogTarget, key: Int64, _ marks: [LogMark],
        from next: inout Int
    ) throws(SQLiteError) {
        var key = key
        var parameter = 1
        for index in indexes {
            try statement.bind(key, at: parameter)
            try statement.bind(block.times[index] &- DeviceSchema.reference, at: parameter + 1)
            key += 1
            if next < marks.count, marks[next].index == index {
                let mark = marks[next]
                next += 1
                try statement.bind(mark.epoch, at: parameter + 2)
                try statement.bind(mark.seq, at: parameter + 3)
                try statement.bind(mark.receivedAt - block.times[index], at: parameter + 4)
            } else {
                for offset in 2..<Self.leading { try statement.bindNull(at: parameter + offset) }
            }
            parameter += Self.leading
            for slot in 0..<shape.values {
                guard let column = target.slots[slot] else {
                    try statement.bindNull(at: parameter + slot)
                    continue
                }
                let value = block.columns[column][index]
                if target.isReal[column] {
                    try statement.bind(stored: value, at: parameter + slot)
                } else {
                    try target.kinds[column].bind(value, to: statement, at: parameter + slot)
                }
            }
            parameter += shape.values
        }
        try statement.run()
    }
}

/// The first row of a batch in a log.
struct LogMark {
    /// The index of the sample in its run.
    let index: Int
    /// The id of the batch's epoch, or nil if the batch is not numbered.
    let epoch: Int64?
    /// The number of the batch's scope, or nil if the batch is not numbered.
    let scope: Int?
    /// The number of the batch.
    let seq: Int64?
    /// The time of receipt, in µs since 1970.
    let receivedAt: Int64
}
