import LockstepModel
import LockstepSQLite

/// Reads the content of a log when a store is opened: after a crash, or if it was not worth merging at the last stop.
struct LogRecovery {
    private(set) var index = LogIndex()
    /// The number of the last turn, or 0 if the log is empty.
    private(set) var lastTurn: Int64 = 0
    /// The batch numbers in the log, by the number of their scope.
    private(set) var batches: [Int: (scope: Scope, numbers: SequenceSet)] = [:]
    /// The numbers of streams with rows in the log that are not in `tables`.
    private(set) var unknownStreams: Set<Int64> = []
    /// Whether some devices of the log are already merged.
    let isMerging: Bool

    /// The scopes by the ids of epochs.
    private let epochs: [Int64: Scope]
    /// The scopes of the first epochs of devices, whose id is 0, by device id.
    private let firstEpochs: [Int64: Scope]

    /// - Parameter tables: the indexes of the tables of streams, by the number of the stream in the logs.
    init(
        _ log: LogNumber, tables: [Int64: Int], _ scopes: inout ScopeTable, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        isMerging = try database.integer("SELECT first_device FROM logs WHERE log = \(log.rawValue)") > 0
        let turns =
            LogShape.allCases.map { LogKey.lastTurnSQL(of: $0.table(of: log)) }
            + [LogKey.lastTurnSQL(of: log.clocksTable), "(SELECT max(turn) FROM \(log.changesTable))"]
        for turn in turns { lastTurn = max(lastTurn, try database.integer("SELECT \(turn)")) }
        var epochs: [Int64: Scope] = [:]
        for (id, epoch) in lastTurn > 0 ? try EpochTable.epochs(in: database) : [:] {
            epochs[id] = scopes.scope(of: epoch.key.device, device: epoch.device, epoch: epoch.key.epoch)
        }
        self.epochs = epochs
        var firstEpochs: [Int64: Scope] = [:]
        for (device, key) in lastTurn > 0 ? try EpochTable.firstEpochs(in: database) : [:] {
            firstEpochs[device] = scopes.scope(of: key.device, device: device, epoch: key.epoch)
        }
        self.firstEpochs = firstEpochs
        guard lastTurn > 0 else { return }
        for shape in LogShape.allCases { try readSamples(shape.table(of: log), log, tables, in: database) }
        try readChanges(log, in: database)
        try readClocks(log, in: database)
        index.commit()
    }

    private mutating func readSamples(
        _ table: String, _ log: LogNumber, _ tables: [Int64: Int], in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let select = try database.prepare(
            """
            SELECT turn, stream_id, device_id, t, epoch_id, seq, delay FROM \(table) WHERE \(log.isVisible())
            ORDER BY id
            """)
        var open: (stream: Int64, device: Int64, turn: Int64, times: ClosedRange<Int64>, count: Int)?
        func close() {
            guard let row = open else { return }
            if let table = tables[row.stream] {
                let segment = LogIndex.Segment(
                    first: row.times.lowerBound, last: row.times.upperBound, turn: row.turn)
                index.add(
                    segment, newest: row.times.upperBound, count: row.count, of: table, device: row.device)
            } else {
                unknownStreams.insert(row.stream)
            }
        }
        while try select.step() {
            let (turn, stream, device, time) = (
                select.int64(at: 0), select.int64(at: 1), select.int64(at: 2), select.int64(at: 3)
            )
            if let row = open, row.turn == turn, row.stream == stream, row.device == device {
                let times = min(row.times.lowerBound, time)...max(row.times.upperBound, time)
                open = (stream, device, turn, times, row.count + 1)
            } else {
                close()
                open = (stream, device, turn, time...time, 1)
            }
            let scope = select.optionalInt64(at: 4).flatMap { epoch in self.scope(of: epoch, device: device) }
            let receivedAt = select.optionalInt64(at: 6).map { time + $0 }
            let seq = select.optionalInt64(at: 5)
            index.update(device) { content in
                content.figures.samples += 1
                content.figures.recordSample(at: time)
                if let receivedAt { content.figures.recordMessage(at: receivedAt) }
                if let scope { content.add(scope: scope.number) }
            }
            if let scope, let seq { insert(seq...seq, of: scope) }
        }
        close()
    }

    private mutating func readChanges(_ log: LogNumber, in database: SQLiteDatabase) throws(SQLiteError) {
        let select = try database.prepare(
            """
            SELECT device_id, epoch_id, first, last, seen, last_t, samples, duplicates, conflicts
            FROM \(log.changesTable) WHERE \(log.isVisible())
            """)
        while try select.step() {
            let device = select.int64(at: 0)
            let scope = select.optionalInt64(at: 3) == nil ? nil : self.scope(of: select.int64(at: 1), device: device)
            index.update(device) { content in
                content.figures.samples += select.int64(at: 6)
                content.figures.duplicates += select.int64(at: 7)
                content.figures.conflicts += select.int64(at: 8)
                if let seen = select.optionalInt64(at: 4) { content.figures.recordMessage(at: seen) }
                if let newest = select.optionalInt64(at: 5) { content.figures.recordSample(at: newest) }
                if let scope { content.add(scope: scope.number) }
            }
            if let scope, let range = batchRange(select, at: 2) { insert(range, of: scope) }
        }
    }

    private mutating func readClocks(_ log: LogNumber, in database: SQLiteDatabase) throws(SQLiteError) {
        let select = try database.prepare(
            "SELECT turn, device_id, t FROM \(log.clocksTable) WHERE \(log.isVisible()) ORDER BY id")
        while try select.step() {
            let time = select.int64(at: 2)
            let segment = LogIndex.Segment(first: time, last: time, turn: select.int64(at: 0))
            index.add(segment, newest: time, count: 1, of: ClockLog.table, device: select.int64(at: 1))
        }
    }

    private func scope(of epoch: Int64, device: Int64) -> Scope? { epoch == 0 ? firstEpochs[device] : epochs[epoch] }

    private mutating func insert(_ range: ClosedRange<Int64>, of scope: Scope) {
        batches[scope.number, default: (scope, SequenceSet())].numbers.insert(range)
    }
}
