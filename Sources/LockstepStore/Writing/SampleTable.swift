import LockstepModel
import LockstepSQLite

/// The table and the view of one stream. They are created with the first sample of the stream.
struct SampleTable {
    /// What exists only together with the table.
    private struct Created {
        /// The number of the stream in `_waiting`.
        let id: Int64
        let columns: RowColumns
        let rows: WaitingRows
        let inserts: [RowInsert]
        let selectNewest: SQLiteStatement
        let selectRow: SQLiteStatement
        let selectSpan: SQLiteStatement

        init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
            guard let columns = try RowColumns(of: stream, in: database) else { return nil }
            id = try StreamTable.register(stream, in: database)
            self.columns = columns
            rows = WaitingRows(stream, columns)
            var inserts: [RowInsert] = []
            for rows in RowInsert.sizes { inserts.append(try RowInsert(stream, rows: rows, in: database)) }
            self.inserts = inserts
            let table = stream.rowTable
            selectNewest = try database.prepare("SELECT max(t) FROM \(table) WHERE device_id = ?", persistent: true)
            selectRow = try database.prepare(
                "SELECT t, \(columns.list) FROM \(table) WHERE device_id = ? AND t = ?", persistent: true)
            selectSpan = try database.prepare(
                "SELECT t, \(columns.list) FROM \(table) WHERE device_id = ? AND t BETWEEN ? AND ? ORDER BY t LIMIT ?",
                persistent: true)
        }
    }

    let stream: SensorStream
    private var created: Created?
    /// The summaries of minutes, if the table exists.
    private(set) var minutes: MinuteSummaries?
    /// Whether the current transaction has created the table.
    private var isNew = false
    /// Whether the view shows waiting samples, and whether it did before the current transaction.
    private(set) var showsWaiting = false
    private var showedWaiting = false
    /// The time of the newest sample of each device in the table and in `_waiting`, in µs since 1970, or `Int64.min` if it
    /// has none.
    private var newest = NumberMap<Int64>()
    /// The time of each device before which samples have left, in µs since 1970.
    private(set) var kept = NumberMap<Int64>()
    /// The devices of which the current transaction has written samples.
    private var changed: [Int64] = []

    /// Prepares the statements, if the table exists. Call it within a transaction.
    init(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        self.stream = stream
        created = try Created(stream, in: database)
        if let id { minutes = try MinuteSummaries(stream, id: id, in: database) }
        if let id { for (device, time) in try ExpiredTable.limits(of: id, in: database) { kept[Int(device)] = time } }
    }

    /// Records before which time samples of a device have left.
    mutating func keep(from time: Int64, device: Int64) {
        kept[Int(device)] = max(kept[Int(device)] ?? time, time)
    }

    /// Whether this program knows all columns of the table.
    var knowsAllColumns: Bool { created?.columns.indexes.allSatisfy { $0 != nil } ?? true }

    /// The number of the stream in `_waiting`, or nil if there is no table yet.
    var id: Int64? { created?.id }

    /// Creates the table and the view, unless they exist, as part of the current transaction.
    mutating func create(in database: SQLiteDatabase) throws(SQLiteError) {
        guard created == nil else { return }
        try database.execute(stream.createRowTable)
        try StoreSchema.replace(stream.plainView, in: database)
        created = try Created(stream, in: database)
        if let id { minutes = try MinuteSummaries(stream, id: id, in: database) }
        isNew = true
    }

    /// Lets the view show waiting samples or not, as part of the current transaction.
    mutating func show(waiting: Bool, in database: SQLiteDatabase) throws(SQLiteError) {
        guard let created else { return }
        let view = waiting ? stream.waitingView(id: created.id, order: created.columns.order) : stream.plainView
        try StoreSchema.replace(view, in: database)
        showsWaiting = waiting
    }

    /// Inserts samples of a device that the table does not have.
    func insert(_ samples: Range<Int>, of block: SampleBlock, device: Int64) throws(SQLiteError) {
        guard let inserts = created?.inserts else { return }
        try minutes?.willInsert(block.times[samples], of: device, expiry: kept[Int(device)] ?? .min)
        var first = samples.lowerBound
        while first < samples.upperBound {
            // There is always an insert, because the smallest one has one row.
            guard let insert = inserts.first(where: { $0.rows <= samples.upperBound - first }) else { break }
            try insert.run(first..<first + insert.rows, of: block, device: device)
            first += insert.rows
        }
    }

    /// Returns samples as the JSON of a row in `_waiting`.
    func json(_ samples: some Collection<Int>, of block: SampleBlock, after start: Int64) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(samples.count * (stream.columns.count + 1) * 10 + 2)
        created?.rows.encode(samples, of: block, after: start, to: &json)
        return json
    }

    /// Calls `body` with each sample of a row in `_waiting` whose columns are `first_t` and `rows`.
    func decode(_ row: SQLiteStatement, _ body: (Int64, [Double]) -> Void) {
        created?.rows.decode(row, at: 1, after: row.int64(at: 0), body)
    }

    /// Returns the time of the newest sample of a device, or `Int64.min` if it has none.
    mutating func newestTime(of device: Int64, _ waiting: WaitingTable, _ index: Int) throws(SQLiteError) -> Int64 {
        if let known = newest[Int(device)] { return known }
        var found = waiting.newest(of: index, device: device) ?? .min
        if let select = created?.selectNewest {
            try select.bind(device, at: 1)
            defer { select.reset() }
            if try select.step() { found = max(found, select.optionalInt64(at: 0) ?? .min) }
        }
        newest[Int(device)] = found
        return found
    }

    /// Records that samples of a device were written.
    mutating func didWrite(until time: Int64, device: Int64) {
        newest[Int(device)] = max(newest[Int(device)] ?? .min, time)
        changed.append(device)
    }

    /// Adds the rows of the table at some times to `rows`.
    ///
    /// The result may also contain rows at other times.
    func read(_ times: [Int64], device: Int64, into rows: inout [Int64: [Double]]) throws(SQLiteError) {
        guard let created, let first = times.min(), let last = times.max() else { return }
        // Usually the samples of a batch are adjacent in the table.
        let limit = 4 * times.count + 16
        try created.selectSpan.bind(device, at: 1)
        try created.selectSpan.bind(first, at: 2)
        try created.selectSpan.bind(last, at: 3)
        try created.selectSpan.bind(Int64(limit), at: 4)
        let before = rows.count
        try read(created.selectSpan, into: &rows)
        guard rows.count - before >= limit else { return }
        // There may be millions of other rows between two times, so look up each one.
        try created.selectRow.bind(device, at: 1)
        for time in times where rows[time] == nil {
            try created.selectRow.bind(time, at: 2)
            try read(created.selectRow, into: &rows)
        }
    }

    private func read(_ select: SQLiteStatement, into rows: inout [Int64: [Double]]) throws(SQLiteError) {
        while try select.step() {
            rows[select.int64(at: 0)] = stream.columns.indices.map { column in
                stream.columns[column].kind.read(select, at: column + 1)
            }
        }
    }

    mutating func commit() {
        isNew = false
        showedWaiting = showsWaiting
        changed.removeAll(keepingCapacity: true)
    }

    /// Forgets what the reverted transaction changed.
    mutating func rollBack() {
        if isNew { (created, minutes) = (nil, nil) }
        minutes?.rollBack()
        isNew = false
        showsWaiting = showedWaiting
        for device in changed { newest[Int(device)] = nil }
        changed.removeAll(keepingCapacity: true)
    }
}

extension SensorStream {
    /// Returns whether a stored sample has the values of sample `index` of a block. Null equals null.
    func isEqual(_ index: Int, of block: SampleBlock, to stored: [Double]) -> Bool {
        for (column, definition) in columns.enumerated() {
            let received = definition.kind.normalized(block.columns[column][index])
            guard stored[column] == received || (stored[column].isNaN && received.isNaN) else { return false }
        }
        return true
    }

    /// The size of a row in the table, in bytes.
    var rowSize: Int { 18 + 8 * columns.count }
}
