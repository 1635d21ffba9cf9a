import LockstepModel

/// One of the two logs of a store. One receives new rows while the other is being merged.
enum LogNumber: Int64, CaseIterable {
    case first = 1
    case second = 2

    var other: LogNumber { self == .first ? .second : .first }

    /// The table of changes that are not rows: counters and batch numbers.
    var changesTable: String { "log\(rawValue)_changes" }

    /// The table of estimates of devices' clocks.
    var clocksTable: String { "log\(rawValue)_clocks" }

    /// The table of the times in each few turns.
    var spansTable: String { "log\(rawValue)_spans" }

    /// The SQL condition that excludes the devices that were already merged.
    ///
    /// - Parameter column: the column of the device id. Prefix it with `+` to keep it out of the index search.
    func isVisible(_ column: String = "device_id") -> String {
        "\(column) >= (SELECT first_device FROM logs WHERE log = \(rawValue))"
    }
}

/// The shape of a log's tables. All streams share two tables per log, so that a commit appends to few pages.
enum LogShape: String, CaseIterable {
    /// Rows of up to four values.
    case narrow
    /// Rows of up to twenty values.
    case wide

    /// The number of value columns.
    var values: Int {
        switch self {
        case .narrow: 4
        case .wide: 20
        }
    }

    /// The smallest shape for a number of values, or nil if no shape is large enough.
    init?(fitting count: Int) {
        guard let shape = Self.allCases.first(where: { count <= $0.values }) else { return nil }
        self = shape
    }

    func table(of log: LogNumber) -> String { "log\(log.rawValue)_\(rawValue)" }

    /// The names of the value columns.
    var columns: [String] { (1...values).map { "v\($0)" } }
}

/// The place of a stream in the logs.
struct LogStream: Equatable {
    /// The number of the stream in the logs.
    let id: Int64
    let shape: LogShape
    /// The names of the stream's columns in the order of the value columns.
    var columns: [String]

    /// Returns the SQL expression of a column's value as it is stored, or NULL if the logs do not contain it.
    func storedValue(of column: SensorStream.Column) -> String {
        columns.firstIndex(of: column.name).map { "v\($0 + 1)" } ?? "NULL"
    }

    /// Returns the SQL expression of a column's value with the type of the column, or NULL if the logs do not contain it.
    ///
    /// The type is necessary: without it, SQLite copies all rows of a view before it applies a condition.
    func value(of column: SensorStream.Column) -> String {
        let type = column.kind.sqlType
        guard let index = columns.firstIndex(of: column.name) else { return "CAST(NULL AS \(type))" }
        let name = "v\(index + 1)"
        guard column.kind == .real else { return "CAST(\(name) AS \(type))" }
        return "CAST(\(StoredReal.valueSQL(name)) AS REAL)"
    }
}

/// The place of a stream's values in a log, for writing.
struct LogTarget {
    let stream: LogStream
    /// For each value column, the index of the stream's column, or nil if the value column is not used.
    let slots: [Int?]
    /// The kind of each of the stream's columns.
    let kinds: [SensorStream.Kind]
    /// Whether the kind of each column is `real`. A separate array avoids the reference counting of reading the kinds.
    let isReal: [Bool]

    /// Returns nil if the log lacks a column of the stream: its rows are then written to its table directly.
    init?(_ stream: SensorStream, _ logStream: LogStream?) {
        guard let logStream, stream.columns.allSatisfy({ logStream.columns.contains($0.name) }) else { return nil }
        self.stream = logStream
        slots = (0..<logStream.shape.values).map { slot in
            guard slot < logStream.columns.count else { return nil }
            return stream.columns.firstIndex { $0.name == logStream.columns[slot] }
        }
        kinds = stream.columns.map(\.kind)
        isReal = kinds.map { $0 == .real }
    }
}
