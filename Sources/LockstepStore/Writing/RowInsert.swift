import LockstepModel
import LockstepSQLite

/// One INSERT of several rows into a stream's table, which passes over those whose key the table has.
///
/// A statement a row spends more time on its start and end than on the row.
struct RowInsert {
    /// Rows a statement, the most first: any number of rows is a few of these.
    static let sizes = [50, 10, 3, 1]

    let rows: Int
    private let stream: SensorStream
    private let statement: SQLiteStatement
    /// Parameters a row: device, time, one a column.
    private let width: Int
    /// By column: to look at the column itself would count references for each statement.
    private let isReal: [Bool]

    init(_ stream: SensorStream, rows: Int, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        self.rows = rows
        let width = stream.columns.count + 2
        self.width = width
        isReal = stream.columns.map { $0.kind == .real }
        let names = (["device_id", "t"] + stream.columns.map(\.name)).joined(separator: ", ")
        // The device is the same for all, so all rows share its parameter.
        let places = (0..<rows).map { row in
            let values = (2...width).map { "?\(row * width + $0)" }.joined(separator: ", ")
            return "(?1, \(values))"
        }
        statement = try database.prepare(
            "INSERT INTO \(stream.table) (\(names)) VALUES \(places.joined(separator: ", ")) ON CONFLICT DO NOTHING",
            persistent: true)
    }

    /// Inserts `range` of the block's samples.
    /// - Precondition: there are as many of them as the statement has rows.
    /// - Returns: how many were new.
    func run(
        _ range: Range<Int>, of block: SampleBlock, device: Int64, in database: SQLiteDatabase
    ) throws(SQLiteError) -> Int {
        precondition(range.count == rows)
        try statement.bind(device, at: 1)
        try statement.bind(block.times[range], from: 2, every: width)
        for index in isReal.indices {
            let values = block.columns[index][range]
            if isReal[index] {
                try statement.bind(values, from: index + 3, every: width)
            } else {
                let kind = stream.columns[index].kind
                for (row, value) in values.enumerated() {
                    try kind.bind(value, to: statement, at: row * width + index + 3)
                }
            }
        }
        try statement.run()
        return database.changes
    }
}
