import LockstepModel
import LockstepSQLite

/// The part of a merge that moves rows of a log to a run.
///
/// Rows are moved in the order of their devices and streams, which is the order of their keys.
struct LogMove {
    let run: Int64
    /// The rows that were moved in the current slice, by stream.
    private var parts: [Int64: RunSet.Part] = [:]
    private let narrow: SQLiteStatement
    private let wide: SQLiteStatement
    private let clocks: SQLiteStatement
    private let insertPart: SQLiteStatement

    init(_ log: LogNumber, to run: Int64, in database: SQLiteDatabase) throws(SQLiteError) {
        self.run = run
        func statement(_ shape: LogShape) throws(SQLiteError) -> SQLiteStatement {
            try database.prepare(
                Self.moveSQL(shape.table(of: log), to: RowSource.runs.table(shape), ["after"] + shape.columns),
                persistent: true)
        }
        narrow = try statement(.narrow)
        wide = try statement(.wide)
        clocks = try database.prepare(
            Self.moveSQL(log.clocksTable, to: RowSource.runs.clocksTable, ClockLog.movedColumns), persistent: true)
        insertPart = try RunSet.insert(in: database)
    }

    /// The statement that moves the rows of a device in one turn, from their keys and the key of the first new row. The
    /// numbers in the keys of a turn may have gaps, those in the keys of a run have none.
    private static func moveSQL(_ source: String, to target: String, _ columns: [String]) -> String {
        let list = columns.joined(separator: ", ")
        return """
            INSERT INTO \(target) (id, \(list))
            SELECT ?3 + (SELECT count(*) FROM \(source) AS earlier WHERE earlier.id >= ?1 AND earlier.id < moved.id), \(list)
            FROM \(source) AS moved WHERE id BETWEEN ?1 AND ?2 ORDER BY id
            """
    }

    /// Moves the rows of one stream of a device.
    /// - Parameters:
    ///   - logStream: the place of the stream in the logs, or nil for estimates of clocks.
    ///   - rowSize: the approximate size of a row in its table, in bytes.
    mutating func move(
        _ stream: LogIndex.Stream, _ logStream: LogStream?, of device: Int64, rowSize: Int, from log: LogNumber,
        in database: SQLiteDatabase
    ) throws(SQLiteError) {
        guard let first = stream.segments.first?.first else { return }
        let id = logStream?.id ?? ClockLog.stream
        let statement =
            switch logStream?.shape {
            case .narrow: narrow
            case .wide: wide
            case nil: clocks
            }
        let key = RunKey.first(run: run, device: device, stream: id)
        var rows = 0
        for turn in stream.turns {
            let keys = RowSource.log(log).keys(part: turn, stream: id, device: device)
            try statement.bind(keys.lowerBound, at: 1)
            try statement.bind(keys.upperBound, at: 2)
            try statement.bind(key + Int64(rows), at: 3)
            try statement.run()
            rows += database.changes
        }
        guard rows > 0 else { return }
        let part = RunSet.Part(
            run: run, stream: id, rowSize: rowSize, devices: 1, rows: rows,
            times: min(first, stream.newest)...stream.newest)
        if parts[id]?.add(part) == nil { parts[id] = part }
    }

    /// Writes what the slice has moved to the table `log_runs`.
    func writeParts() throws(SQLiteError) {
        for stream in parts.keys.sorted() { try parts[stream]?.write(with: insertPart) }
    }

    /// Returns what the slice has moved, and forgets it.
    mutating func takeParts() -> [RunSet.Part] {
        defer { parts.removeAll(keepingCapacity: true) }
        return parts.keys.sorted().compactMap { parts[$0] }
    }
}
