import LockstepModel
import LockstepSQLite

/// The merge of one log into the tables keyed by (device, time), device by device, in slices.
///
/// Each slice is a transaction that writes the rows of some devices to the tables and raises `first_device`, which hides
/// these rows in the log. So each row is visible once at any moment. When all devices are merged, the tables of the log
/// are cleared. If the log has many devices, the rows of those with few of them are written to a run instead.
struct LogMerge {
    /// The next kind of work.
    private enum Step: Equatable {
        case devices
        case clearing(Int)
        case done
    }

    let log: LogNumber
    /// The ids of the devices in the log, in ascending order.
    private let devices: [Int64]
    private var next = 0
    private var step = Step.devices

    /// The statement that merges the rows of a device in one turn, by the index of the table.
    private let mergeRows: [SQLiteStatement?]
    /// The places of the streams in the logs, by the index of the table.
    private let streams: [LogStream?]
    private let mergeClocks: SQLiteStatement
    /// The move to a run, or nil if all rows are written to the tables.
    private var move: LogMove?
    private let updateDevice: SQLiteStatement
    private let raiseFirstDevice: SQLiteStatement

    /// - Parameters:
    ///   - index: the content of the log. It must not change until the merge is done.
    ///   - tables: the tables of the streams, in the order of the indexes in `index`.
    ///   - run: the run for rows of devices with few of them, or nil to write all rows to the tables.
    init(
        _ log: LogNumber, _ index: LogIndex, into tables: [SampleTable], run: Int64?, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        self.log = log
        devices = index.devices.keys.map(Int64.init)
        var statements: [SQLiteStatement?] = []
        var streams: [LogStream?] = []
        for table in tables {
            let logStream = try LogSchema.find(table.stream, in: database)
            streams.append(logStream)
            guard let logStream else {
                statements.append(nil)
                continue
            }
            let sql = Self.mergeSQL(table, logStream, .log(log))
            statements.append(try database.prepare(sql, persistent: true))
        }
        mergeRows = statements
        self.streams = streams
        mergeClocks = try database.prepare(ClockLog.mergeSQL(.log(log)), persistent: true)
        move = nil
        if let run { move = try LogMove(log, to: run, in: database) }
        let origin = "(\(DeviceSchema.reference) + origin)"
        let firstSeen = "ifnull(min(first_seen, ?2), ifnull(first_seen, ?2))"
        // A time after now (?9) shows that the clock was ahead, and has been set back.
        let lastSeen = "iif(last_seen > ?9, NULL, last_seen)"
        updateDevice = try database.prepare(
            """
            UPDATE merged_devices SET
                first_seen_after = \(firstSeen) - \(origin),
                last_seen_after = ifnull(max(\(lastSeen), ?3), ifnull(\(lastSeen), ?3)) - ifnull(\(firstSeen), \(origin)),
                last_t_after = ifnull(max(last_t, ?4), ifnull(last_t, ?4)) - \(origin),
                samples = samples + ?5, duplicates = duplicates + ?6, conflicts = conflicts + ?7,
                rests_on_after = ifnull(?8 - \(origin), rests_on_after)
            WHERE device_id = ?1
            """, persistent: true)
        raiseFirstDevice = try database.prepare(
            "UPDATE logs SET first_device = max(first_device, ?) WHERE log = \(log.rawValue)", persistent: true)
    }

    var isDone: Bool { step == .done }

    /// The share of the work that is done, from 0 to 1. Clearing the tables takes little of it.
    var progress: Double {
        step == .devices && !devices.isEmpty ? Double(next) / Double(devices.count + 1) : 1
    }

    /// The devices that the last slice merged.
    private(set) var lastMerged: ArraySlice<Int64> = []
    /// The rows that the last slice moved to a run.
    private(set) var lastMoved: [RunSet.Part] = []

    /// Does one slice of the work in a transaction of its own.
    /// - Parameters:
    ///   - index: the content of the log.
    ///   - evidence: the times of the newest evidence for the states of devices, in µs since 1970.
    ///   - scopes: the scopes of batch numbers.
    ///   - ledger: the received batch numbers.
    ///   - isOver: whether to end the slice after the current device.
    /// - Throws: ``SQLiteError``. The slice is then undone and can be repeated.
    mutating func runSlice(
        _ index: LogIndex, evidence: NumberMap<Int64>, scopes: ScopeTable, ledger: RangeLedger,
        in database: SQLiteDatabase, until isOver: () -> Bool
    ) throws {
        lastMoved = []
        switch step {
        case .devices:
            // Of a slice that failed, nothing was moved.
            _ = move?.takeParts()
            let merged = try database.transaction {
                var position = next
                while position < devices.count {
                    let device = devices[position]
                    if let content = index.devices[Int(device)] {
                        try merge(content, of: device, evidence: evidence[Int(device)], in: database)
                        for number in content.scopes { try ledger.persist(scopes.scope(number, device: device)) }
                    }
                    position += 1
                    if isOver() { break }
                }
                try move?.writeParts()
                // At least 1, so that the next start of the collector resumes the merge. It is never lowered: if the
                // collector was killed while it cleared the tables, they still contain merged rows.
                let firstDevice: Int64 = position == 0 ? 1 : devices[position - 1] + 1
                try raiseFirstDevice.bind(firstDevice, at: 1)
                try raiseFirstDevice.run()
                return position
            }
            lastMerged = devices[next..<merged]
            lastMoved = move?.takeParts() ?? []
            next = merged
            if next == devices.count { step = .clearing(0) }
        case .clearing(let position):
            lastMerged = []
            let tables = LogShape.allCases.map { $0.table(of: log) } + [log.clocksTable, log.changesTable]
            let isLast = position == tables.count - 1
            try database.transaction {
                // Without a condition, SQLite reads the pages and frees them, but does not write them.
                try database.execute("DELETE FROM \(tables[position])")
                guard isLast else { return }
                try database.execute("DELETE FROM \(log.spansTable)")
                try database.execute("UPDATE logs SET first_device = 0 WHERE log = \(log.rawValue)")
            }
            step = isLast ? .done : .clearing(position + 1)
        case .done: break
        }
    }

    private mutating func merge(
        _ content: LogIndex.Device, of device: Int64, evidence: Int64?, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        // A run is written in the order of its keys.
        for stream in content.streams.sorted(by: { id(of: $0) < id(of: $1) }) {
            let isClock = stream.table == ClockLog.table
            let logStream = isClock ? nil : streams[stream.table]
            guard let statement = isClock ? mergeClocks : mergeRows[stream.table] else { continue }
            let rowSize = RunPlacement.rowSize(columns: logStream?.columns.count ?? ClockLog.columnCount)
            if move != nil, RunPlacement.isMoved(rows: stream.rows, size: rowSize) {
                try move?.move(stream, logStream, of: device, rowSize: rowSize, from: log, in: database)
                continue
            }
            for turn in stream.turns {
                let keys = RowSource.log(log).keys(part: turn, stream: id(of: stream), device: device)
                try statement.bind(keys.lowerBound, at: 1)
                try statement.bind(keys.upperBound, at: 2)
                try statement.run()
            }
        }
        try writeFigures(content.figures, of: device, evidence: evidence)
    }

    /// Returns the number of a stream in the logs.
    private func id(of stream: LogIndex.Stream) -> Int64 {
        stream.table == ClockLog.table ? ClockLog.stream : streams[stream.table]?.id ?? 0
    }

    private func writeFigures(_ figures: LogIndex.Figures, of device: Int64, evidence: Int64?) throws(SQLiteError) {
        try updateDevice.bind(device, at: 1)
        try updateDevice.bind(figures.firstSeen, at: 2)
        try updateDevice.bind(figures.lastSeen, at: 3)
        try updateDevice.bind(figures.newest, at: 4)
        try updateDevice.bind(figures.samples, at: 5)
        try updateDevice.bind(figures.duplicates, at: 6)
        try updateDevice.bind(figures.conflicts, at: 7)
        try updateDevice.bind(evidence, at: 8)
        try updateDevice.bind(Moment.now().wall.microseconds, at: 9)
        try updateDevice.run()
    }

    /// Returns the statement that merges the rows of a device in one turn or run, from their keys.
    static func mergeSQL(_ table: SampleTable, _ logStream: LogStream, _ source: RowSource) -> String {
        let stream = table.stream
        let values = zip(stream.columns, table.columns.isShort).map { column, isShort in
            isShort ? logStream.storedValue(of: column) : logStream.value(of: column)
        }
        return """
            INSERT INTO \(stream.mergedTable) (device_id, t, \(table.columns.list))
            SELECT \((["device_id", "t"] + values).joined(separator: ", "))
            FROM \(source.table(logStream.shape)) WHERE id BETWEEN ? AND ?
            ON CONFLICT DO NOTHING
            """
    }
}
