import LockstepModel
import LockstepSQLite

/// Appends rows and changes to one of the two logs, and keeps the index of its content.
///
/// All rows of a transaction have the same turn number, unless there are more than fit into a turn. Call ``commit()`` or ``rollBack()`` after each transaction.
struct LogWriter {
    let number: LogNumber
    private(set) var index = LogIndex()
    /// The number of the last committed turn, or 0 if the log is empty.
    private(set) var lastTurn: Int64 = 0
    /// The number of the current transaction's turn, or nil if the transaction has not written to the log yet.
    private(set) var turn: Int64?

    /// The first turn of the current transaction.
    private var firstTurn: Int64?
    /// The number of rows in the current turn.
    private var rowsInTurn = 0
    /// The maximum number of rows in a turn. Tests reduce it.
    var maxRowsInTurn = LogKey.rowsPerTurn

    private var spans: LogSpans
    private let inserts: LogShapeInserts
    private let insertChange: SQLiteStatement
    private let insertClock: SQLiteStatement

    init(_ number: LogNumber, in database: SQLiteDatabase) throws(SQLiteError) {
        self.number = number
        spans = try LogSpans(of: number, in: database)
        inserts = LogShapeInserts(
            narrow: try LogRowInsert.all(.narrow, of: number, in: database),
            wide: try LogRowInsert.all(.wide, of: number, in: database))
        insertChange = try database.prepare(
            """
            INSERT INTO \(number.changesTable)
                (turn, device_id, epoch_id, first, last, seen, last_t, samples, duplicates, conflicts)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, persistent: true)
        insertClock = try database.prepare(ClockLog.insertSQL(number), persistent: true)
    }

    /// Whether the log has no rows and no changes.
    var isEmpty: Bool { lastTurn == 0 && turn == nil }

    /// Restores the index of a log that was not merged when the store was closed.
    mutating func restore(_ index: LogIndex, lastTurn: Int64) {
        self.index = index
        self.lastTurn = lastTurn
    }

    /// Appends samples of one stream of a device. Their times increase, and no table or log contains them.
    /// - Parameters:
    ///   - indexes: the indexes of the samples in `block`.
    ///   - marks: the batches that begin at some of these indexes, in the order of the indexes.
    mutating func append(
        _ indexes: some RandomAccessCollection<Int>, of block: SampleBlock, to target: LogTarget, table: Int,
        device: Int64, marks: [LogMark]
    ) throws(SQLiteError) {
        var mark = 0
        var rest = indexes[...]
        while let first = rest.first {
            if rowsInTurn >= maxRowsInTurn { try startTurn() }
            let turn = try beginTurn()
            let piece = rest.prefix(maxRowsInTurn - rowsInTurn)
            rest = rest.dropFirst(piece.count)
            let firstMark = mark
            let key = LogKey.first(turn: turn, stream: target.stream.id, device: device) + Int64(rowsInTurn)
            try insert(piece, of: block, to: target, key: key, marks, from: &mark)
            rowsInTurn += piece.count
            // Times increase.
            let last = block.times[piece.last ?? first]
            let segment = LogIndex.Segment(first: block.times[first], last: last, turn: turn)
            spans.add(segment.first...last)
            index.add(segment, newest: last, count: piece.count, of: table, device: device) { content in
                content.figures.samples += Int64(piece.count)
                content.figures.recordSample(at: last)
                for mark in marks[firstMark..<mark] {
                    content.figures.recordMessage(at: mark.receivedAt)
                    if let scope = mark.scope { content.add(scope: scope) }
                }
            }
        }
    }

    private func insert(
        _ indexes: some RandomAccessCollection<Int>, of block: SampleBlock, to target: LogTarget, key: Int64,
        _ marks: [LogMark], from mark: inout Int
    ) throws(SQLiteError) {
        let statements = inserts[target.stream.shape]
        var rest = indexes[...]
        var key = key
        // There is always an insert, because the smallest one has one row.
        while !rest.isEmpty, let insert = statements.first(where: { $0.rows <= rest.count }) {
            try insert.run(rest.prefix(insert.rows), of: block, to: target, key: key, marks, from: &mark)
            rest = rest.dropFirst(insert.rows)
            key += Int64(insert.rows)
        }
    }

    /// Changes the index of a device. The rows of the log must show the same change.
    mutating func updateIndex(of device: Int64, _ body: (inout LogIndex.Device) -> Void) {
        index.update(device, body)
    }

    /// Appends a change of counters and batch numbers.
    /// - Parameters:
    ///   - epoch: the id of the epoch of `batches`, or 0 without batch numbers.
    ///   - change: the change of the counters, or nil if another row of this turn contains it.
    mutating func append(
        _ change: LedgerChange?, epoch: Int64, batches: ClosedRange<Int64>?, device: Int64
    ) throws(SQLiteError) {
        try insertChange.bind(try beginTurn(), at: 1)
        try insertChange.bind(device, at: 2)
        try insertChange.bind(epoch, at: 3)
        try insertChange.bind(batches?.lowerBound ?? 0, at: 4)
        try insertChange.bind(batches?.upperBound, at: 5)
        try insertChange.bind(change?.lastSeen, at: 6)
        try insertChange.bind(change?.newest, at: 7)
        try insertChange.bind(change?.samples, at: 8)
        try insertChange.bind(change?.duplicates, at: 9)
        try insertChange.bind(change?.conflicts, at: 10)
        try insertChange.run()
    }

    /// Appends an estimate of a device's clock that no table or log contains.
    /// - Parameter epoch: the id of its epoch.
    mutating func append(_ point: ClockPoint, epoch: Int64, device: Int64) throws(SQLiteError) {
        if rowsInTurn >= maxRowsInTurn { try startTurn() }
        let turn = try beginTurn()
        try insertClock.bind(ClockLog.key(turn: turn, device: device, row: rowsInTurn), at: 1)
        try insertClock.bind(epoch, at: 2)
        try insertClock.bind(point.collector.rawValue, at: 3)
        try point.bind(to: insertClock, from: 4)
        try insertClock.run()
        rowsInTurn += 1
        let time = point.time.microseconds
        index.add(
            LogIndex.Segment(first: time, last: time, turn: turn), newest: time, count: 1, of: ClockLog.table,
            device: device)
    }

    /// Keeps the changes of the current transaction.
    mutating func commit() {
        index.commit()
        spans.commit()
        if let turn { lastTurn = turn }
        endTransaction()
    }

    /// Reverts the changes of the current transaction.
    mutating func rollBack() {
        index.rollBack(turn: firstTurn)
        spans.rollBack()
        endTransaction()
    }

    /// Forgets everything, after the tables of the log were cleared.
    mutating func clear() {
        index = LogIndex()
        spans.clear()
        lastTurn = 0
    }

    private mutating func endTransaction() {
        turn = nil
        firstTurn = nil
        rowsInTurn = 0
    }

    /// Returns the number of the current turn, and starts one if there is none.
    private mutating func beginTurn() throws(SQLiteError) -> Int64 {
        if let turn { return turn }
        return try startTurn()
    }

    @discardableResult
    private mutating func startTurn() throws(SQLiteError) -> Int64 {
        let next = (turn ?? lastTurn) + 1
        if firstTurn == nil { firstTurn = next }
        turn = next
        rowsInTurn = 0
        try spans.begin(next)
        return next
    }
}

/// The INSERT statements of a log, for each shape.
private struct LogShapeInserts {
    let narrow: [LogRowInsert]
    let wide: [LogRowInsert]

    subscript(shape: LogShape) -> [LogRowInsert] {
        switch shape {
        case .narrow: narrow
        case .wide: wide
        }
    }
}
