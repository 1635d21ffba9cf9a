import LockstepModel
import LockstepSQLite

/// What the logs contain of each device: counters and the times of the newest samples.
///
/// The logs are read in the order of their keys, so that SQLite groups rows without sorting them. This is several times
/// faster than the view `devices`, which groups them by device.
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
        let columns = """
            sample.stream_id, sample.device_id, max(sample.t), count(*), min(sample.t + delay), max(sample.t + delay)
            """
        // By the primary key: one search for each turn and stream.
        let ofDevice = """
            SELECT \(columns) FROM log_turns CROSS JOIN log_streams CROSS JOIN \(table) AS sample
                ON sample.turn = log_turns.turn AND sample.stream_id = log_streams.stream_id
                AND sample.device_id = ?1 AND \(log.isVisible("+sample.device_id"))
            WHERE log_turns.turn <= (SELECT max(turn) FROM \(table)) AND log_streams.shape = '\(shape.rawValue)'
            GROUP BY log_turns.turn, log_streams.stream_id
            """
        let all = """
            SELECT \(columns) FROM \(table) AS sample WHERE \(log.isVisible("sample.device_id"))
            GROUP BY turn, stream_id, device_id
            """
        let select = try database.prepare(device == nil ? all : ofDevice)
        if let device { try select.bind(device, at: 1) }
        while try select.step() {
            let (stream, device, time) = (select.int64(at: 0), select.int64(at: 1), select.int64(at: 2))
            let known = newest[stream]?[device] ?? time
            newest[stream, default: [:]][device] = max(known, time)
            devices[device, default: .init()].recordSample(at: time)
            devices[device, default: .init()].samples += select.int64(at: 3)
            for column in [4, 5] {
                if let seen = select.optionalInt64(at: column) { devices[device]?.recordMessage(at: seen) }
            }
        }
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
