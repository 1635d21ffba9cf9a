import LockstepModel
import LockstepSQLite

/// The statements that summarise minutes of a stream.
struct Summariser {
    private let stream: SensorStream
    private let columns: [[SummaryColumn]]
    /// The indexes of these columns in the stream.
    let indexes: [Int]
    private let database: SQLiteDatabase
    private let selectDense: SQLiteStatement
    private let selectNext: SQLiteStatement
    private let sum: SQLiteStatement
    /// The statements that need the table of summaries, from its first one on.
    private var select: SQLiteStatement?
    private var selectRow: SQLiteStatement?
    private var insert: SQLiteStatement?

    init(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        self.database = database
        indexes = stream.columns.indices.filter { stream.columns[$0].kind.words == nil }
        columns = indexes.map { stream.columns[$0].summaryColumns }
        selectDense = try database.prepare(
            """
            SELECT t FROM \(stream.rowTable) \(Self.key) ORDER BY t LIMIT 1 OFFSET \(MinuteSummaries.leastSamples - 1)
            """, persistent: true)
        selectNext = try database.prepare(
            "SELECT t FROM \(stream.rowTable) \(Self.key) ORDER BY t LIMIT 1", persistent: true)
        let names = ["t"] + columns.compactMap { $0.first?.column.name }
        sum = try database.prepare(
            "SELECT column_sums(\(names.joined(separator: ", "))) FROM \(stream.rowTable) \(Self.key)", persistent: true
        )
        if try !StoreSchema.columns(of: stream.minutesTable, in: database).isEmpty { try prepare() }
    }

    private static let key = "WHERE device_id = ?1 AND t >= ?2 AND t < ?3"

    private mutating func prepare() throws(SQLiteError) {
        select = try database.prepare(
            "SELECT t FROM \(stream.minutesTable) \(Self.key) ORDER BY t", persistent: true)
        let values = ["device_id", "t", "samples"] + columns.joined().map(\.name)
        selectRow = try database.prepare(
            "SELECT \(values.dropFirst(2).joined(separator: ", ")) FROM \(stream.minutesTable) \(Self.key)",
            persistent: true)
        insert = try database.prepare(
            """
            INSERT OR REPLACE INTO \(stream.minutesTable) (\(values.joined(separator: ", ")))
            VALUES (\(values.map { _ in "?" }.joined(separator: ", ")))
            """, persistent: true)
    }

    private func bind(
        _ statement: SQLiteStatement, _ device: Int64, _ times: Range<Int64>
    ) throws(SQLiteError) {
        try statement.bind(device, at: 1)
        try statement.bind(times.lowerBound, at: 2)
        try statement.bind(times.upperBound, at: 3)
    }

    /// Returns the times before the next summary that have none; an empty range after many summaries. The range begins with a
    /// minute, or has no summary before it.
    func gap(of device: Int64, in times: Range<Int64>) throws(SQLiteError) -> Range<Int64> {
        guard let select else { return times }
        try bind(select, device, times)
        defer { select.reset() }
        var start = times.lowerBound
        // To read so many takes some milliseconds.
        let (limit, overflows) = start.addingReportingOverflow(10_000 * Minute.length)
        while try select.step() {
            let minute = select.int64(at: 0)
            guard minute == start else { return start..<minute }
            start = minute + Minute.length
            if start >= limit, !overflows { return start..<start }
        }
        return start..<max(start, times.upperBound)
    }

    /// Returns the next minute that may have enough samples: the one with the last of the first 50. Those before have fewer.
    func minute(of device: Int64, in times: Range<Int64>) throws(SQLiteError) -> Int64? {
        try bind(selectDense, device, times)
        defer { selectDense.reset() }
        guard try selectDense.step() else { return nil }
        return Minute.start(of: max(selectDense.int64(at: 0), .min + Minute.length))
    }

    /// Returns the next minute with samples.
    func next(of device: Int64, in times: Range<Int64>) throws(SQLiteError) -> Int64? {
        try bind(selectNext, device, times)
        defer { selectNext.reset() }
        return try selectNext.step() ? Minute.start(of: max(selectNext.int64(at: 0), .min + Minute.length)) : nil
    }

    /// Computes the summary of a minute.
    func sum(_ minute: Int64, of device: Int64, _ sums: ColumnSums) throws(SQLiteError) {
        sums.begin(columns: columns.count, part: Minute.length)
        try bind(sum, device, minute..<minute + Minute.length)
        try sum.run()
    }

    /// Reads the summary of a minute, or begins that of a minute that has none.
    func read(_ minute: Int64, of device: Int64, _ sums: ColumnSums) throws(SQLiteError) {
        sums.begin(columns: columns.count, part: Minute.length)
        guard let selectRow else { return }
        try bind(selectRow, device, minute..<minute + Minute.length)
        defer { selectRow.reset() }
        guard try selectRow.step() else { return }
        var next = 1
        sums.add(rows: selectRow.int64(at: 0), columns.map { ColumnSums.Column($0.map(\.part), selectRow, at: &next) })
    }

    /// Writes the summary of a minute.
    mutating func write(_ minute: Int64, of device: Int64, _ sums: ColumnSums) throws(SQLiteError) {
        if insert == nil {
            try database.execute(stream.createMinutesTable)
            try prepare()
        }
        guard let insert else { return }
        try insert.bind(device, at: 1)
        try insert.bind(minute, at: 2)
        try insert.bind(sums.rows, at: 3)
        var index = 4
        for (position, parts) in columns.enumerated() {
            let column = sums[position]
            for part in parts {
                let value = column.value(of: part.part)
                // A sum of infinities of both signs is not known either.
                if value.isNaN {
                    try insert.bindNull(at: index)
                } else if part.part == .count {
                    try insert.bind(column.count, at: index)
                } else {
                    try insert.bind(value, at: index)
                }
                index += 1
            }
        }
        try insert.run()
    }
}

extension ColumnSums.Column {
    /// Returns a part of a summary, or NaN if no value is known.
    func value(of part: SummaryColumn.Part) -> Double {
        if part == .count { return Double(count) }
        guard count > 0 else { return .nan }
        return switch part {
        case .sum: sum
        case .count: Double(count)
        case .min: minimum
        case .max: maximum
        case .east: east
        }
    }

    /// Reads the parts of a summary from the current row.
    /// - Parameter index: the column of the first part; afterwards that which follows them.
    init(_ parts: [SummaryColumn.Part], _ row: SQLiteStatement, at index: inout Int) {
        self.init()
        for part in parts {
            switch part {
            case .sum: sum = row.double(at: index)
            case .count: count = row.int64(at: index)
            case .min: minimum = row.double(at: index)
            case .max: maximum = row.double(at: index)
            case .east: east = row.double(at: index)
            }
            index += 1
        }
    }
}
