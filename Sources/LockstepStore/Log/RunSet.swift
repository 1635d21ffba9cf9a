import LockstepModel
import LockstepSQLite

/// What the runs contain, in memory and in the table `log_runs`. Its size does not depend on the number of devices.
struct RunSet: Equatable {
    /// The rows of one stream in one run.
    struct Part: Equatable {
        let run: Int64
        /// The number of the stream in the logs, or ``ClockLog/stream``.
        let stream: Int64
        /// The approximate size of a row in its table, in bytes.
        let rowSize: Int
        /// The number of devices with rows.
        var devices: Int
        var rows: Int
        /// The times of the oldest and the newest row, in µs since 1970.
        var times: ClosedRange<Int64>

        mutating func add(_ other: Part) {
            devices += other.devices
            rows += other.rows
            times = min(times.lowerBound, other.times.lowerBound)...max(times.upperBound, other.times.upperBound)
        }
    }

    private(set) var parts: [Part] = []

    var isEmpty: Bool { parts.isEmpty }
    /// The number of the last run, or 0.
    var lastRun: Int64 { parts.last?.run ?? 0 }
    /// The number of runs.
    var count: Int { Set(parts.map(\.run)).count }
    var rows: Int { parts.reduce(0) { $0 + $1.rows } }

    /// The streams with rows: the greatest number of devices in a run, and the approximate size of all rows in their table.
    var streams: [(id: Int64, devices: Int, bytes: Int)] {
        Dictionary(grouping: parts, by: \.stream).map { id, parts in
            (id, parts.map(\.devices).max() ?? 0, parts.reduce(0) { $0 + $1.rows * $1.rowSize })
        }
    }

    /// Returns the runs that may contain rows of a stream at some times.
    func runs(with stream: Int64, _ times: ClosedRange<Int64>) -> [Int64] {
        parts.filter { $0.stream == stream && $0.times.overlaps(times) }.map(\.run)
    }

    /// Adds rows to the last run or a later one.
    mutating func add(_ part: Part) {
        if let index = parts.lastIndex(where: { $0.run == part.run && $0.stream == part.stream }) {
            parts[index].add(part)
        } else {
            parts.append(part)
        }
    }

    mutating func removeAll() { parts.removeAll() }
}

extension RunSet {
    /// Reads the table `log_runs`.
    init(in database: SQLiteDatabase) throws(SQLiteError) {
        let select = try database.prepare(
            """
            SELECT run, log_runs.stream_id, devices, rows, first, last, columns
            FROM log_runs LEFT JOIN log_streams USING (stream_id) ORDER BY run, log_runs.stream_id
            """)
        while try select.step() {
            let columns = select.text(at: 6).map { $0.split(separator: " ").count } ?? ClockLog.columnCount
            let (first, last) = (select.int64(at: 4), select.int64(at: 5))
            parts.append(
                Part(
                    run: select.int64(at: 0), stream: select.int64(at: 1),
                    rowSize: RunPlacement.rowSize(columns: columns), devices: Int(select.int64(at: 2)),
                    rows: Int(select.int64(at: 3)), times: first...max(first, last)))
        }
    }

    /// Prepares the statement that adds a part to the table.
    static func insert(in database: SQLiteDatabase) throws(SQLiteError) -> SQLiteStatement {
        try database.prepare(
            """
            INSERT INTO log_runs (run, stream_id, devices, rows, first, last) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET devices = devices + excluded.devices, rows = rows + excluded.rows,
                first = min(first, excluded.first), last = max(last, excluded.last)
            """, persistent: true)
    }
}

extension RunSet.Part {
    /// Adds the part to the table `log_runs`.
    func write(with insert: SQLiteStatement) throws(SQLiteError) {
        try insert.bind(run, at: 1)
        try insert.bind(stream, at: 2)
        try insert.bind(Int64(devices), at: 3)
        try insert.bind(Int64(rows), at: 4)
        try insert.bind(times.lowerBound, at: 5)
        try insert.bind(times.upperBound, at: 6)
        try insert.run()
    }
}
