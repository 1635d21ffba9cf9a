/// The key of a row in a run: its run, device, stream and number, in this order, in one integer.
///
/// A log is moved to a run device by device, so SQLite fills one page after the other and changes no earlier one.
enum RunKey {
    static let maxRun: Int64 = 1 << (63 - runShift) - 1
    /// The number of rows of a stream of a device in a run.
    static let maxRows = 1 << streamShift

    private static let streamShift = 17
    private static let deviceShift = 26
    private static let runShift = 50

    /// Returns the first key of a stream of a device in a run.
    static func first(run: Int64, device: Int64, stream: Int64) -> Int64 {
        run << runShift + ofRun(device: device, stream: stream)
    }

    /// Returns the first key of a stream of a device, relative to that of the run.
    static func ofRun(device: Int64, stream: Int64) -> Int64 { device << deviceShift + stream << streamShift }

    /// Returns the keys that the rows of a stream of a device in a run can have.
    static func range(run: Int64, device: Int64, stream: Int64) -> ClosedRange<Int64> {
        let first = first(run: run, device: device, stream: stream)
        return first...first + Int64(maxRows - 1)
    }

    /// Returns the keys of a run from those of a device on.
    static func range(run: Int64, fromDevice device: Int64) -> ClosedRange<Int64> {
        first(run: run, device: device, stream: 0)...(run << runShift + (1 << runShift - 1))
    }

    /// Returns the device of a key.
    static func device(of key: Int64) -> Int64 { key >> deviceShift & LogKey.maxDevice }

    /// The columns that are parts of the key `id`. They are computed, and take no space.
    static let columnsSQL = """
        run INTEGER AS (id >> \(runShift)), -- number of the run, from 1
            device_id INTEGER AS ((id >> \(deviceShift)) & \(LogKey.maxDevice)),
            stream_id INTEGER AS ((id >> \(streamShift)) & \(LogKey.maxStream)),
        """

    /// Returns the SQL range of the keys of a stream of a device in a run, for use after `BETWEEN`.
    static func rangeSQL(run: String, stream: String, device: String) -> String {
        let first = "(\(run) << \(runShift)) + (\(device) << \(deviceShift)) + (\(stream) << \(streamShift))"
        return "\(first) AND \(first) + \(maxRows - 1)"
    }

    /// Returns the SQL range of all keys of a run, for use after `BETWEEN`.
    static func rangeOfAllSQL(run: String) -> String {
        "(\(run) << \(runShift)) AND (\(run) << \(runShift)) + \((1 << runShift) - 1)"
    }

    /// Returns the SQL expression of the greatest id of a device in a table.
    static func lastDeviceSQL(of table: String) -> String {
        """
        (SELECT max((SELECT (id >> \(deviceShift)) & \(LogKey.maxDevice) FROM \(table)
            WHERE id BETWEEN \(rangeOfAllSQL(run: "log_runs.run")) ORDER BY id DESC LIMIT 1)) FROM log_runs)
        """
    }
}
