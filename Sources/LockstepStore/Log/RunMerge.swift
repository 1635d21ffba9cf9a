import LockstepModel
import LockstepSQLite

/// The merge of all runs into the tables keyed by (device, time), device by device, in slices.
///
/// As in ``LogMerge``, each slice is a transaction that writes the rows of some devices and hides them in the runs. All
/// runs are merged in one pass, so that a page of a device is written once for all of them.
struct RunMerge {
    private enum Step: Equatable {
        case devices
        case clearing(Int)
        case done
    }

    private static let tables = LogShape.allCases.map { RowSource.runs.table($0) } + [RowSource.runs.clocksTable]
    /// The number of rows that are deleted at once if there are many.
    private static let rowsPerPiece = 1000
    /// The number of rows up to which a table is cleared by one statement. It frees the pages without writing them, but
    /// has to read all of them, about 1.5 µs each. Deleting rows in pieces writes their pages once more.
    private static let maxRowsAtOnce = 1_000_000

    private let parts: [(run: Int64, stream: Int64)]
    /// The statement that merges the rows of a device in one run, by the number of the stream in the logs.
    private let merges: [Int64: SQLiteStatement]
    private let deletes: [SQLiteStatement]
    private let raiseFirstDevice: SQLiteStatement
    private let first: Int64
    private let last: Int64
    private var next: Int64
    /// The number of rows in the runs, and how many of them are deleted.
    private let rows: Int
    private var deleted = 0
    private var step = Step.devices

    /// - Parameter tables: the tables of the streams. Those of all streams in the runs must be among them.
    init(_ runs: RunSet, into tables: [SampleTable], in database: SQLiteDatabase) throws(SQLiteError) {
        parts = runs.parts.map { ($0.run, $0.stream) }
        rows = runs.rows
        let streams = Set(runs.parts.map(\.stream))
        var merges: [Int64: SQLiteStatement] = [:]
        if streams.contains(ClockLog.stream) {
            merges[ClockLog.stream] = try database.prepare(ClockLog.mergeSQL(.runs), persistent: true)
        }
        for table in tables {
            guard let logStream = try LogSchema.find(table.stream, in: database), streams.contains(logStream.id) else {
                continue
            }
            merges[logStream.id] = try database.prepare(
                LogMerge.mergeSQL(table.stream, logStream, .runs), persistent: true)
        }
        self.merges = merges
        var deletes: [SQLiteStatement] = []
        for table in Self.tables {
            let piece = """
                WHERE id <= ifnull(
                    (SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET \(Self.rowsPerPiece - 1)), \(Int64.max))
                """
            let condition = runs.rows <= Self.maxRowsAtOnce ? "" : piece
            deletes.append(try database.prepare("DELETE FROM \(table) \(condition)", persistent: true))
        }
        self.deletes = deletes
        raiseFirstDevice = try database.prepare(
            "UPDATE logs SET first_device = max(first_device, ?) WHERE log = \(RowSource.runsNumber)", persistent: true)
        var last: Int64 = 0
        for table in Self.tables { last = max(last, try database.integer("SELECT \(RunKey.lastDeviceSQL(of: table))")) }
        self.last = last
        // Those below are merged already.
        let start = try database.integer("SELECT first_device FROM logs WHERE log = \(RowSource.runsNumber)")
        first = max(1, min(start, last + 1))
        next = first
    }

    var isDone: Bool { step == .done }

    /// The share of the work that is done, from 0 to 1. Clearing the tables takes about a fifth of it.
    var progress: Double {
        switch step {
        case .devices: 0.8 * Double(next - first) / Double(max(1, last - first + 1))
        case .clearing: 0.8 + 0.2 * min(1, Double(deleted) / Double(max(1, rows)))
        case .done: 1
        }
    }

    /// Does one slice of the work in a transaction of its own.
    /// - Parameter isOver: whether to end the slice after the current device or piece.
    /// - Throws: ``SQLiteError``. The slice is then undone and can be repeated.
    mutating func runSlice(in database: SQLiteDatabase, until isOver: () -> Bool) throws {
        switch step {
        case .devices:
            let merged = try database.transaction {
                var device = next
                while device <= last {
                    for (run, stream) in parts {
                        guard let merge = merges[stream] else { continue }
                        let keys = RunKey.range(run: run, device: device, stream: stream)
                        try merge.bind(keys.lowerBound, at: 1)
                        try merge.bind(keys.upperBound, at: 2)
                        try merge.run()
                    }
                    device += 1
                    if isOver() { break }
                }
                // At least 1, so that the next start of the collector resumes the merge. It is never lowered: the rows
                // remain hidden until all of them are deleted.
                try raiseFirstDevice.bind(device, at: 1)
                try raiseFirstDevice.run()
                return device
            }
            next = merged
            if next > last { step = .clearing(0) }
        case .clearing(let position):
            let isLast = position == Self.tables.count - 1
            var deletedRows = 0
            let isEmpty = try database.transaction {
                while true {
                    try deletes[position].run()
                    deletedRows += database.changes
                    guard database.changes < Self.rowsPerPiece else {
                        if isOver() { return false }
                        continue
                    }
                    guard isLast else { return true }
                    try database.execute("DELETE FROM log_runs")
                    try database.execute("UPDATE logs SET first_device = 0 WHERE log = \(RowSource.runsNumber)")
                    return true
                }
            }
            deleted += deletedRows
            if isEmpty { step = isLast ? .done : .clearing(position + 1) }
        case .done: break
        }
    }
}
