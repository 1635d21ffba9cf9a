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
    /// Inserts rows whose real numbers are whole numbers of millionths.
    private let millionths: SQLiteStatement
    /// Inserts any rows.
    private let any: SQLiteStatement
    /// Whether the kind of each column is `real`. A separate array avoids the reference counting of reading the
    /// columns.
    private let isReal: [Bool]

    init(_ stream: SensorStream, rows: Int, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        self.rows = rows
        isReal = stream.columns.map { $0.kind == .real }
        func prepare(_ names: [String]) throws(SQLiteError) -> SQLiteStatement {
            let width = names.count + 1
            // All rows belong to one device, so they share parameter 1.
            let placeholders = (0..<rows).map { row in
                let values = (2...width + 1).map { "?\(row * width + $0)" }.joined(separator: ", ")
                return "(?1, \(values))"
            }
            // A person may have added rows.
            return try database.prepare(
                """
                INSERT INTO \(stream.rowTable) (device_id, t, \(names.joined(separator: ", ")))
                VALUES \(placeholders.joined(separator: ", ")) ON CONFLICT DO NOTHING
                """, persistent: true)
        }
        millionths = try prepare(stream.columns.map(\.storedName))
        any = try prepare(stream.columns.flatMap(\.storedNames))
    }

    /// Inserts the samples of `range`.
    /// - Precondition: `range.count` equals ``rows``.
    func run(_ range: Range<Int>, of block: SampleBlock, device: Int64) throws(SQLiteError) {
        precondition(range.count == rows)
        if try bindMillionths(range, of: block, device: device) { return try millionths.run() }
        try bindAny(range, of: block, device: device)
        try any.run()
    }

    /// - Returns: false if a real number is not a whole number of millionths.
    private func bindMillionths(
        _ range: Range<Int>, of block: SampleBlock, device: Int64
    ) throws(SQLiteError) -> Bool {
        let width = isReal.count + 1
        try millionths.bind(device, at: 1)
        try millionths.bind(block.times[range], from: 2, every: width)
        for index in isReal.indices {
            let values = block.columns[index][range]
            if !isReal[index] {
                try bind(values, ofKind: index, to: millionths, from: index + 3, every: width)
            } else if try !millionths.bind(values, scaledBy: 1e6, from: index + 3, every: width) {
                return false
            }
        }
        return true
    }

    private func bindAny(_ range: Range<Int>, of block: SampleBlock, device: Int64) throws(SQLiteError) {
        let width = isReal.reduce(1) { $0 + ($1 ? 2 : 1) }
        try any.bind(device, at: 1)
        try any.bind(block.times[range], from: 2, every: width)
        var place = 3
        for index in isReal.indices {
            let values = block.columns[index][range]
            guard isReal[index] else {
                try bind(values, ofKind: index, to: any, from: place, every: width)
                place += 1
                continue
            }
            for (row, value) in values.enumerated() {
                let whole = (value + 0).exactInteger(scaledBy: 1e6)
                try any.bind(whole, at: row * width + place)
                try any.bind(whole == nil ? value : nil, at: row * width + place + 1)
            }
            place += 2
        }
    }

    private func bind(
        _ values: ArraySlice<Double>, ofKind index: Int, to statement: SQLiteStatement, from first: Int,
        every width: Int
    ) throws(SQLiteError) {
        let kind = stream.columns[index].kind
        for (row, value) in values.enumerated() { try kind.bind(value, to: statement, at: row * width + first) }
    }
}
