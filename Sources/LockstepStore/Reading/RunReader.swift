import LockstepModel
import LockstepSQLite

/// Reads the rows of one stream that are in the runs.
struct RunReader {
    private let kinds: [SensorStream.Kind]
    private let parts: SQLiteStatement
    private let select: SQLiteStatement
    private let logStream: LogStream

    init(_ stream: SensorStream, _ logStream: LogStream, in database: SQLiteDatabase) throws(SQLiteError) {
        kinds = stream.columns.map(\.kind)
        self.logStream = logStream
        // The newest first: older ones rarely need to be searched.
        parts = try database.prepare(
            """
            SELECT run, last FROM log_runs
            WHERE stream_id = \(logStream.id) AND first < ?3 AND last >= ?2 AND \(RowSource.runs.isVisible("?1"))
            ORDER BY last DESC
            """)
        select = try database.prepare(
            """
            SELECT \(LogReader.list(stream, logStream)) FROM \(RowSource.runs.table(logStream.shape)) AS sample
            WHERE id BETWEEN ?1 AND ?2 AND t >= ?3 AND t < ?4 ORDER BY t DESC
            """)
    }

    /// Returns a FROM clause with the runs that may contain times from `?2` up to `?3`, as `log_runs.run`.
    static func fromSQL(of logStream: LogStream) -> String {
        "(SELECT run FROM log_runs WHERE stream_id = \(logStream.id) AND first < ?3 AND last >= ?2) AS log_runs"
    }

    /// The SELECT of the device ids of all rows.
    var devicesSQL: String {
        let source = RowSource.runs
        return """
            SELECT device_id FROM log_runs CROSS JOIN \(source.table(logStream.shape)) AS sample
                ON sample.id BETWEEN \(source.keysOfAllSQL(stream: logStream.id)) AND sample.stream_id = \(logStream.id)
            WHERE \(source.partsSQL(of: logStream.id, in: "")) AND \(source.isVisible("sample.device_id"))
            """
    }

    /// Returns the newest row of a device in a range of times, or nil if there is none after a time.
    /// - Parameter column: the index of a column that must be known, or nil.
    func newest(
        of device: Int64, _ times: Range<Int64>, after time: Int64?, knowing column: Int? = nil
    ) throws(SQLiteError) -> LogReader.Row? {
        var newest: LogReader.Row?
        var known = time
        try parts.bind(device, at: 1)
        try parts.bind(times.lowerBound, at: 2)
        try parts.bind(times.upperBound, at: 3)
        defer { parts.reset() }
        while try parts.step(), known.map({ $0 < parts.int64(at: 1) }) ?? true {
            let keys = RunKey.range(run: parts.int64(at: 0), device: device, stream: logStream.id)
            try select.bind(keys.lowerBound, at: 1)
            try select.bind(keys.upperBound, at: 2)
            try select.bind(times.lowerBound, at: 3)
            try select.bind(times.upperBound, at: 4)
            defer { select.reset() }
            while try select.step() {
                let row = (select.int64(at: 0), kinds.indices.map { kinds[$0].read(select, at: $0 + 1) })
                if let column, row.1[column].isNaN { continue }
                if known.map({ $0 < row.0 }) ?? true { (newest, known) = (row, row.0) }
                break
            }
        }
        return newest
    }
}
