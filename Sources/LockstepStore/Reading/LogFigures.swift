import LockstepModel
import LockstepSQLite

/// What the logs contain of each device: counters and the times of the newest samples.
///
/// The logs are read in the order of their keys, without sorting. This is several times faster than the view `devices`,
/// which groups the rows by device.
struct LogFigures {
    /// The counters by device id.
    private(set) var devices: [Int64: LogIndex.Figures] = [:]
    /// The time of the newest sample, by the number of the stream in the logs and the device id, in µs since 1970.
    private(set) var newest: [Int64: [Int64: Int64]] = [:]

    /// - Parameter device: the device to read, or nil for all.
    init(of device: Int64?, in database: SQLiteDatabase) throws(SQLiteError) {
        for log in LogNumber.allCases {
            for shape in LogShape.allCases { try readSamples(log, shape, of: device, in: database) }
            try readChanges(log, of: device, in: database)
        }
    }

    private mutating func readSamples(
        _ log: LogNumber, _ shape: LogShape, of device: Int64?, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let table = shape.table(of: log)
        let columns = "sample.stream_id, sample.device_id, sample.t, sample.t + sample.delay"
        let keys = LogKey.rangeSQL(turn: "log_turns.turn", stream: "log_streams.stream_id", device: "?1")
        // By the primary key: one search for each turn and stream.
        let ofDevice = """
            SELECT \(columns) FROM log_turns CROSS JOIN log_streams CROSS JOIN \(table) AS sample
                ON sample.id BETWEEN \(keys)
            WHERE log_turns.turn <= \(LogKey.lastTurnSQL(of: table)) AND log_streams.shape = '\(shape.rawValue)'
                AND \(log.isVisible("?1"))
            """
        let all = "SELECT \(columns) FROM \(table) AS sample WHERE \(log.isVisible("sample.device_id"))"
        let select = try database.prepare(device == nil ? all : ofDevice)
        if let device { try select.bind(device, at: 1) }
        // Consecutive rows of one device and stream are added together.
        var open: (stream: Int64, device: Int64, figures: LogIndex.Figures)?
        while try select.step() {
            let (stream, device) = (select.int64(at: 0), select.int64(at: 1))
            if open?.stream != stream || open?.device != device {
                if let open { add(open.figures, open.stream, open.device) }
                open = (stream, device, LogIndex.Figures())
            }
            open?.figures.samples += 1
            open?.figures.recordSample(at: select.int64(at: 2))
            if let seen = select.optionalInt64(at: 3) { open?.figures.recordMessage(at: seen) }
        }
        if let open { add(open.figures, open.stream, open.device) }
    }

    private mutating func add(_ figures: LogIndex.Figures, _ stream: Int64, _ device: Int64) {
        devices[device, default: .init()].add(figures)
        guard let time = figures.newest else { return }
        newest[stream, default: [:]][device] = max(newest[stream]?[device] ?? time, time)
    }

    private mutating func readChanges(
        _ log: LogNumber, of device: Int64?, in database: SQLiteDatabase
    ) throws(SQLiteError) {
        let select = try database.prepare(
            """
            SELECT device_id, seen, last_t, samples, duplicates, conflicts FROM \(log.changesTable)
            WHERE \(log.isVisible()) \(device == nil ? "" : "AND device_id = ?1")
            """)
        if let device { try select.bind(device, at: 1) }
        while try select.step() {
            var figures = devices[select.int64(at: 0)] ?? .init()
            if let seen = select.optionalInt64(at: 1) { figures.recordMessage(at: seen) }
            if let newest = select.optionalInt64(at: 2) { figures.recordSample(at: newest) }
            figures.samples += select.int64(at: 3)
            figures.duplicates += select.int64(at: 4)
            figures.conflicts += select.int64(at: 5)
            devices[select.int64(at: 0)] = figures
        }
    }
}
