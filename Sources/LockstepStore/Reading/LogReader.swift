import LockstepModel
import LockstepSQLite

/// Reads the rows of one stream that are in the logs or runs and not merged yet.
struct LogReader {
    typealias Row = (time: Int64, values: [Double])

    private let kinds: [SensorStream.Kind]
    private let rows: SQLiteStatement
    private let times: SQLiteStatement
    private let endTimes: SQLiteStatement
    private let newest: SQLiteStatement
    /// The SELECT of the rows of all devices in the logs, and the database, for rarer queries.
    private let all: String
    private let runs: RunReader
    private let database: SQLiteDatabase
    private let columns: [SensorStream.Column]

    /// Creates a reader, or returns nil if the logs cannot contain the stream.
    init?(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        guard let logStream = try LogSchema.find(stream, in: database) else { return nil }
        kinds = stream.columns.map(\.kind)
        let list = Self.list(stream, logStream)
        let names = (["t"] + stream.columns.indices.map { "c\($0)" }).joined(separator: ", ")
        let times = "t >= ?2 AND t < ?3"
        let ofDevice = Self.ofDevice(logStream, list: list)
        let all = LogNumber.allCases.map { log in
            """
            SELECT device_id, \(list) FROM \(logStream.shape.table(of: log)) AS sample
            WHERE stream_id = \(logStream.id) AND \(log.isVisible("device_id"))
            """
        }.joined(separator: "\nUNION ALL\n")
        self.all = all
        runs = try RunReader(stream, logStream, in: database)
        self.database = database
        columns = stream.columns
        // Converting and sorting the values in SQL takes longer.
        let stored = stream.columns.map { logStream.storedValue(of: $0) }
        rows = try database.prepare(
            Self.ofDevice(logStream, list: (["sample.t"] + stored).joined(separator: ", ")))
        self.times = try database.prepare(Self.ofDevice(logStream, list: "sample.t"))
        endTimes = try database.prepare("SELECT min(t), max(t) FROM (\(ofDevice))")
        // SQLite takes the other columns from the row with the maximum.
        newest = try database.prepare(
            "SELECT device_id, max(t), \(names) FROM (\(all)) WHERE \(times) GROUP BY device_id")
    }

    /// Returns the rows of a device in a range of times, in order of time.
    func rows(of device: Int64, _ times: Range<Int64>) throws(SQLiteError) -> [Row] {
        try bind(rows, device, times)
        var result: [Row] = []
        var isSorted = true
        while try rows.step() {
            let row = (rows.int64(at: 0), kinds.indices.map { kinds[$0].readStored(rows, at: $0 + 1) })
            if let last = result.last, last.time > row.0 { isSorted = false }
            result.append(row)
        }
        if !isSorted { result.sort { $0.time < $1.time } }
        return result
    }

    /// Returns the times of the rows of a device in a range of times, in order.
    func times(of device: Int64, _ range: Range<Int64>) throws(SQLiteError) -> [Int64] {
        try bind(times, device, range)
        var result: [Int64] = []
        while try times.step() { result.append(times.int64(at: 0)) }
        return result.sorted()
    }

    /// Returns the times of the oldest and the newest row of a device in a range of times, or none if there is no row.
    func endTimes(of device: Int64, _ times: Range<Int64>) throws(SQLiteError) -> [Int64] {
        try bind(endTimes, device, times)
        defer { endTimes.reset() }
        guard try endTimes.step() else { return [] }
        return [endTimes.optionalInt64(at: 0), endTimes.optionalInt64(at: 1)].compactMap(\.self)
    }

    /// Returns the newest row of each device in a range of times, by device id. It scans the logs once, and not the runs:
    /// use ``newestInRuns(of:_:after:)`` for each device.
    func newest(_ times: Range<Int64>) throws(SQLiteError) -> [Int64: Row] {
        try newest.bind(times.lowerBound, at: 2)
        try newest.bind(times.upperBound, at: 3)
        var result: [Int64: Row] = [:]
        while try newest.step() { result[newest.int64(at: 0)] = row(newest, from: 2) }
        return result
    }

    /// Returns the newest row of a device in the runs in a range of times, or nil if there is none after a time.
    func newestInRuns(of device: Int64, _ times: Range<Int64>, after time: Int64?) throws(SQLiteError) -> Row? {
        try runs.newest(of: device, times, after: time)
    }

    /// Returns the newest row of each device, or of one, in which a column is known, by device id. Without a device, it
    /// scans the logs once, and not the runs.
    func newest(of device: Int64?, knowing column: String) throws(SQLiteError) -> [Int64: Row] {
        guard let index = columns.firstIndex(where: { $0.name == column }) else { return [:] }
        if let device {
            let known = try rows(of: device, .min ..< .max).last { !$0.values[index].isNaN }
            return known.map { [device: $0] } ?? [:]
        }
        let names = (["t"] + kinds.indices.map { "c\($0)" }).joined(separator: ", ")
        let select = try database.prepare("SELECT device_id, \(names) FROM (\(all)) WHERE c\(index) IS NOT NULL")
        var result: [Int64: Row] = [:]
        // Without sorting and grouping in SQL, which takes longer.
        while try select.step() {
            let (device, time) = (select.int64(at: 0), select.int64(at: 1))
            if let known = result[device], known.time > time { continue }
            result[device] = row(select, from: 1)
        }
        return result
    }

    /// Returns the number of rows of each device, by device id. It scans the logs and runs once.
    func rowCounts() throws(SQLiteError) -> [Int64: Int64] {
        let select = try database.prepare("SELECT device_id FROM (\(all)) UNION ALL \(runs.devicesSQL)")
        var result: [Int64: Int64] = [:]
        // Without grouping in SQL, which would sort the rows.
        while try select.step() { result[select.int64(at: 0), default: 0] += 1 }
        return result
    }

    /// Returns a SELECT of the rows of device `?1` from time `?2` up to `?3` in no order, with the columns `t`, `c0`, `c1`,
    /// …, or nil if the logs cannot contain the stream.
    static func selectOfDevice(_ stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) -> String? {
        try LogSchema.find(stream, in: database).map { ofDevice($0, list: list(stream, $0)) }
    }

    private static func ofDevice(_ logStream: LogStream, list: String) -> String {
        // The runs are older than the logs.
        RowSource.all.reversed().map { source in
            // By the primary key: one search in each turn and run that may contain the times.
            let parts =
                switch source {
                case .log(let log): LogSpans.fromSQL(log)
                case .runs: RunReader.fromSQL(of: logStream)
                }
            return """
                SELECT \(list)
                FROM \(parts) CROSS JOIN \(source.table(logStream.shape)) AS sample
                    ON sample.id BETWEEN \(source.keysSQL(stream: "\(logStream.id)", device: "?1"))
                WHERE \(source.isVisible("?1")) AND t >= ?2 AND t < ?3
                """
        }.joined(separator: "\nUNION ALL\n")
    }

    /// Returns the columns `t`, `c0`, `c1`, … of the table `sample`.
    static func list(_ stream: SensorStream, _ logStream: LogStream) -> String {
        let values = stream.columns.indices.map { index in
            "\(logStream.value(of: stream.columns[index])) AS c\(index)"
        }
        return (["sample.t AS t"] + values).joined(separator: ", ")
    }

    private func bind(_ statement: SQLiteStatement, _ device: Int64, _ times: Range<Int64>) throws(SQLiteError) {
        try statement.bind(device, at: 1)
        try statement.bind(times.lowerBound, at: 2)
        try statement.bind(times.upperBound, at: 3)
    }

    private func row(_ statement: SQLiteStatement, from column: Int) -> Row {
        (
            statement.int64(at: column),
            kinds.indices.map { kinds[$0].read(statement, at: column + 1 + $0) }
        )
    }
}
