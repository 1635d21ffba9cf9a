import LockstepModel
import LockstepSQLite

/// Appends rows and changes to one of the two logs, and keeps the index of its content.
///
/// All rows of a transaction have the same turn number. Call ``commit()`` or ``rollBack()`` after each transaction.
struct LogWriter {
    let number: LogNumber
    private(set) var index = LogIndex()
    /// The number of the last committed turn, or 0 if the log is empty.
    private(set) var lastTurn: Int64 = 0
    /// The number of the current transaction's turn, or nil if the transaction has not written to the log yet.
    private(set) var turn: Int64?

    private let inserts: LogShapeInserts
    private let insertChange: SQLiteStatement

    init(_ number: LogNumber, in database: SQLiteDatabase) throws(SQLiteError) {
        self.number = number
        inserts = LogShapeInserts(
            narrow: try LogRowInsert.all(.narrow, of: number, in: database),
            wide: try LogRowInsert.all(.wide, of: number, in: database))
        insertChange = try database.prepare(
            """
            INSERT INTO \(number.changesTable)
                (turn, device_id, epoch_id, first, last, seen, last_t, samples, duplicates, conflicts)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, persistent: true)
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
        guard let first = indexes.first, let last = indexes.last else { return }
        let turn = beginTurn()
        var mark = 0
        var rest = indexes[...]
        let statements = inserts[target.stream.shape]
        // There is always an insert, because the smallest one has one row.
        while !rest.isEmpty, let insert = statements.first(where: { $0.rows <= rest.count }) {
            try insert.run(
                rest.prefix(insert.rows), of: block, to: target, device: device, turn: turn, marks, from: &mark)
            rest = rest.dropFirst(insert.rows)
        }
        let segment = LogIndex.Segment(first: block.times[first], last: block.times[last], turn: turn)
        index.add(segment, count: indexes.count, of: table, device: device) { content in
            content.figures.samples += Int64(indexes.count)
            // Times increase.
            content.figures.recordSample(at: segment.last)
            for mark in marks {
                content.figures.recordMessage(at: mark.receivedAt)
                if let scope = mark.scope { content.add(scope: scope) }
            }
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
        try insertChange.bind(beginTurn(), at: 1)
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

    /// Keeps the changes of the current transaction.
    mutating func commit() {
        index.commit()
        if let turn { lastTurn = turn }
        turn = nil
    }

    /// Reverts the changes of the current transaction.
    mutating func rollBack() {
        index.rollBack(turn: turn)
        turn = nil
    }

    /// Forgets everything, after the tables of the log were cleared.
    mutating func clear() {
        index = LogIndex()
        lastTurn = 0
    }

    private mutating func beginTurn() -> Int64 {
        let current = turn ?? lastTurn + 1
        turn = current
        return current
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
