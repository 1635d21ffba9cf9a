/// The key of a row in a log: its turn, stream, device and number, in this order, in one integer.
///
/// The rows of a commit follow all earlier rows, so SQLite fills one page after the other and changes no earlier one.
/// Nevertheless, the rows of a device in a turn are consecutive, so that a search finds them.
enum LogKey {
    /// The number of rows in a turn. A transaction with more rows takes several turns.
    static let rowsPerTurn = 1 << deviceShift
    static let maxDevice: Int64 = 1 << (streamShift - deviceShift) - 1
    static let maxStream: Int64 = 1 << (turnShift - streamShift) - 1
    static let maxTurn: Int64 = 1 << (63 - turnShift) - 1

    private static let deviceShift = 17
    private static let streamShift = 41
    private static let turnShift = 50

    static func first(turn: Int64, stream: Int64, device: Int64) -> Int64 {
        turn << turnShift + stream << streamShift + device << deviceShift
    }

    /// Returns the keys that the rows of a device in a turn can have.
    static func range(turn: Int64, stream: Int64, device: Int64) -> ClosedRange<Int64> {
        let first = first(turn: turn, stream: stream, device: device)
        return first...first + Int64(rowsPerTurn - 1)
    }

    /// The columns that are parts of the key `id`. They are computed, and take no space.
    static let columnsSQL = """
        turn INTEGER AS (id >> \(turnShift)), -- number of the commit, from 1
            stream_id INTEGER AS ((id >> \(streamShift)) & \(maxStream)),
            device_id INTEGER AS ((id >> \(deviceShift)) & \(maxDevice)),
        """

    /// Returns the SQL expression of the first key of a device in a turn.
    static func firstSQL(turn: String, stream: String, device: String) -> String {
        "(\(turn) << \(turnShift)) + (\(stream) << \(streamShift)) + (\(device) << \(deviceShift))"
    }

    /// Returns the SQL range of the keys of a device in a turn, for use after `BETWEEN`.
    static func rangeSQL(turn: String, stream: String, device: String) -> String {
        let first = firstSQL(turn: turn, stream: stream, device: device)
        return "\(first) AND \(first) + \(rowsPerTurn - 1)"
    }

    /// Returns the SQL range of the keys of all devices in a turn, for use after `BETWEEN`.
    static func rangeOfAllSQL(turn: String, stream: Int64) -> String {
        let first = firstSQL(turn: turn, stream: "\(stream)", device: "0")
        return "\(first) AND \(first) + \((1 << streamShift) - 1)"
    }

    /// Returns the SQL expression of the last turn of a table.
    static func lastTurnSQL(of table: String) -> String { "(SELECT max(id) >> \(turnShift) FROM \(table))" }
}
