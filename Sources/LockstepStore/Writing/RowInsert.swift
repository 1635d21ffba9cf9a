import LockstepModel
import LockstepSQLite

/// An INSERT statement for several rows of a stream's table.
///
/// Several rows per statement are faster: starting and ending a statement takes longer than inserting one row.
struct RowInsert {
    /// The available numbers of rows per statement, in descending order. A few executions insert any number of rows.
    static let sizes = [50, 10, 3, 1]

    /// The number of rows per execution.
    let rows: Int
    private let stream: SensorStream
    private let statement: SQLiteStatement
    /// The number of values per row: device, time, and one per column.
    private let width: Int
    /// Whether the kind of each column is `real`. A separate array avoids the reference counting of reading the
    /// columns.
    private let isReal: [Bool]

    init(_ stream: SensorStream, rows: Int, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        self.rows = rows
        let width = stream.columns.count + 2
        self.width = width
        isReal = stream.columns.map { $0.kind == .real }
        // All rows belong to one device, so they share parameter 1.
        let placeholders = (0..<rows).map { row in
            let values = (2...width).map { "?\(row * width + $0)" }.joined(separator: ", ")
            return "(?1, \(values))"
        }
        let names = stream.columns.map(\.name).joined(separator: ", ")
        // A person may have added rows.
        statement = try database.prepare(
            """
            INSERT INTO \(stream.rowTable) (device_id, t, \(names))
            VALUES \(placeholders.joined(separator: ", ")) ON CONFLICT DO NOTHING
            """, persistent: true)
    }

    /// Inserts the samples of `range`.
    /// - Precondition: `range.count` equals ``rows``.
    func run(_ range: Range<Int>, of block: SampleBlock, device: Int64) throws(SQLiteError) {
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
    }
}
