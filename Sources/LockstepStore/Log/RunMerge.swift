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

    /// The rows of a run in one table.
    private struct Source {
        let run: Int64
        /// The index of the table.
        let table: Int
        let streams: [Int64]
        /// The first device with rows that are not merged yet, or `Int64.max`.
        var device = Int64.max
    }

    private static let tables = LogShape.allCases.map { RowSource.runs.table($0) } + [RowSource.runs.clocksTable]

    private var sources: [Source] = []
    /// The statement that finds the first key in a range, by the index of the table.
    private let seeks: [SQLiteStatement]
    private let findDevice: SQLiteStatement
    private let merges: [Int64: SQLiteStatement]
    private let deletes: [SQLiteStatement]
    private let rowsPerPiece: Int
    private let raiseFirstDevice: SQLiteStatement
    private let first: Int64
    private let last: Int64
    private var next: Int64
    /// The number of rows in the runs, and how many of them are deleted.
    private let rows: Int
    private var deleted = 0
    private var step = Step.devices

    /// - Parameter tables: the tables of the streams. Those of all streams in the runs must be among them.
    init(
        _ runs: RunSet, into tables: [SampleTable], limits: MergeLimits, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        rowsPerPiece = limits.rowsPerPiece
        rows = runs.rows
        let streams = Set(runs.parts.map(\.stream))
        var merges: [Int64: SQLiteStatement] = [:]
        /// The tables of the streams in the runs.
        var tableNames = [ClockLog.stream: RowSource.runs.clocksTable]
        if streams.contains(ClockLog.stream) {
            merges[ClockLog.stream] = try database.prepare(ClockLog.mergeSQL(.runs), persistent: true)
        }
        for table in tables {
            guard let logStream = try LogSchema.find(table.stream, in: database), streams.contains(logStream.id) else {
                continue
            }
            tableNames[logStream.id] = RowSource.runs.table(logStream.shape)
            merges[logStream.id] = try database.prepare(
                LogMerge.mergeSQL(table, logStream, .runs), persistent: true)
        }
        self.merges = merges
        var deletes: [SQLiteStatement] = []
        for table in Self.tables {
            let isSmall = runs.streams.reduce(0) { $0 + $1.bytes } <= limits.maxBytesAtOnce
            let piece = """
                WHERE id <= ifnull(
                    (SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET \(limits.rowsPerPiece - 1)), \(Int64.max))
                """
            let condition = isSmall ? "" : piece
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
        seeks = try Self.tables.map { table throws(SQLiteError) in
            try database.prepare(
                "SELECT id FROM \(table) WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1", persistent: true)
        }
        findDevice = try database.prepare("SELECT 1 FROM merged_devices WHERE device_id = ?", persistent: true)
        for run in Set(runs.parts.map(\.run)).sorted() {
            for (index, table) in Self.tables.enumerated() {
                let streams = runs.parts.filter { $0.run == run && tableNames[$0.stream] == table }.map(\.stream)
                guard !streams.isEmpty else { continue }
                var source = Source(run: run, table: index, streams: streams)
                source.device = try firstDevice(of: source, from: next)
                sources.append(source)
            }
        }
    }

    /// Returns the first device from an id on with rows in a source, or `Int64.max` if there is none.
    private func firstDevice(of source: Source, from device: Int64) throws(SQLiteError) -> Int64 {
        guard device <= LogKey.maxDevice else { return .max }
        let seek = seeks[source.table]
        let keys = RunKey.range(run: source.run, fromDevice: device)
        try seek.bind(keys.lowerBound, at: 1)
        try seek.bind(keys.upperBound, at: 2)
        defer { seek.reset() }
        return try seek.step() ? RunKey.device(of: seek.int64(at: 0)) : .max
    }

    /// Returns whether a device is known. The rows of one whose row a user has deleted are dropped.
    private func isKnown(_ device: Int64) throws(SQLiteError) -> Bool {
        try findDevice.bind(device, at: 1)
        defer { findDevice.reset() }
        return try findDevice.step()
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
            // If the transaction fails, the sources stay as they were.
            var sources = sources
            let merged = try database.transaction {
                var merged = next
                while let device = sources.map(\.device).min(), device <= last {
                    let isKnown = try isKnown(device)
                    for index in sources.indices where sources[index].device == device {
                        if isKnown { try merge(device, from: sources[index]) }
                        sources[index].device = try firstDevice(of: sources[index], from: device + 1)
                    }
                    merged = device + 1
                    if isOver() { break }
                }
                if sources.allSatisfy({ $0.device > last }) { merged = last + 1 }
                // At least 1, so that the next start of the collector resumes the merge. It is never lowered: the rows
                // remain hidden until all of them are deleted.
                try raiseFirstDevice.bind(merged, at: 1)
                try raiseFirstDevice.run()
                return merged
            }
            self.sources = sources
            next = merged
            if next > last { step = .clearing(0) }
        case .clearing(let position):
            let isLast = position == Self.tables.count - 1
            var deletedRows = 0
            let isEmpty = try database.transaction {
                while true {
                    try deletes[position].run()
                    deletedRows += database.changes
                    guard database.changes < rowsPerPiece else {
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
    private func merge(_ device: Int64, from source: Source) throws(SQLiteError) {
        for stream in source.streams {
            guard let merge = merges[stream] else { continue }
            let keys = RunKey.range(run: source.run, device: device, stream: stream)
            try merge.bind(keys.lowerBound, at: 1)
            try merge.bind(keys.upperBound, at: 2)
            try merge.run()
        }
    }
}
