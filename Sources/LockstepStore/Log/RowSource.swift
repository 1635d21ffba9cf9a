/// A place of rows that are not in the tables `merged_…` yet: one of the logs, or the runs.
///
/// Both consist of parts with numbers: the turns of a log, and the runs. A query of one device searches each part.
enum RowSource: Hashable {
    case log(LogNumber)
    case runs

    static let all = LogNumber.allCases.map(RowSource.log) + [.runs]

    /// The row of the table `logs` with the first visible device.
    static let runsNumber: Int64 = 3

    func table(_ shape: LogShape) -> String {
        switch self {
        case .log(let log): shape.table(of: log)
        case .runs: "run_\(shape.rawValue)"
        }
    }

    /// The table of estimates of devices' clocks.
    var clocksTable: String {
        switch self {
        case .log(let log): log.clocksTable
        case .runs: "run_clocks"
        }
    }

    /// The SQL condition that excludes the devices that were already merged.
    ///
    /// - Parameter column: the column of the device id. Prefix it with `+` to keep it out of the index search.
    func isVisible(_ column: String = "device_id") -> String {
        switch self {
        case .log(let log): log.isVisible(column)
        case .runs: "\(column) >= (SELECT first_device FROM logs WHERE log = \(Self.runsNumber))"
        }
    }

    /// Returns the keys that the rows of a device in a part can have.
    func keys(part: Int64, stream: Int64, device: Int64) -> ClosedRange<Int64> {
        switch self {
        case .log: LogKey.range(turn: part, stream: stream, device: device)
        case .runs: RunKey.range(run: part, device: device, stream: stream)
        }
    }

    /// The table with the numbers of the parts.
    var partsTable: String {
        switch self {
        case .log: "log_turns"
        case .runs: "log_runs"
        }
    }

    /// Returns the SQL condition for the rows of ``partsTable`` whose parts may contain a stream.
    /// - Parameter table: the table with the rows of the stream.
    func partsSQL(of stream: Int64, in table: String) -> String {
        switch self {
        case .log: "log_turns.turn <= \(LogKey.lastTurnSQL(of: table))"
        case .runs: "log_runs.stream_id = \(stream)"
        }
    }

    /// Returns the SQL range of the keys of a device in a part, for use after `BETWEEN`.
    func keysSQL(stream: String, device: String) -> String {
        switch self {
        case .log: LogKey.rangeSQL(turn: "log_turns.turn", stream: stream, device: device)
        case .runs: RunKey.rangeSQL(run: "log_runs.run", stream: stream, device: device)
        }
    }

    /// Returns the SQL range of the keys of all devices in a part, for use after `BETWEEN`. It may contain keys of other
    /// streams.
    func keysOfAllSQL(stream: Int64) -> String {
        switch self {
        case .log: LogKey.rangeOfAllSQL(turn: "log_turns.turn", stream: stream)
        case .runs: RunKey.rangeOfAllSQL(run: "log_runs.run")
        }
    }
}
