import LockstepModel
import LockstepSQLite

// The table and the view of a stream. Names of tables and columns are not quoted, which keeps the schema readable.
// Reserved words of SQL therefore cannot be names.

/// The condition that excludes those rows of `_waiting` whose samples have been moved to their table.
let isWaiting =
    "NOT (n <= ifnull((SELECT upto FROM _merge), 0) AND device_id <= ifnull((SELECT device_done FROM _merge), 0))"

extension SensorStream {
    /// The table of the stream's samples. The view ``table`` shows them together with those in `_waiting`.
    var rowTable: String { "_\(table)" }

    /// The statement that creates the table of the stream's samples.
    var createRowTable: String {
        let lines = columns.map { "\($0.name) \($0.kind.sqlType), -- \($0.comment)" }
        return """
            CREATE TABLE \(rowTable) (
                -- \(name): \(summary). The view \(table) shows these rows and those that wait.
                device_id INTEGER NOT NULL REFERENCES _devices,
                t INTEGER NOT NULL, -- time in µs since 1970-01-01 UTC, on the device's time line
                \(lines.joined(separator: "\n    "))
                PRIMARY KEY (device_id, t)
            ) WITHOUT ROWID
            """
    }

    /// The view of the stream while none of its samples wait. SQLite replaces it by the table in a query, so that a query
    /// takes as long as one of the table.
    var plainView: View {
        let lines = zip(columns.indices, columns).map { index, column in
            "\(column.name)\(index == columns.count - 1 ? "" : ",") -- \(column.comment)"
        }
        return View(
            name: table,
            select: """
                -- \(name): \(summary)
                SELECT device_id,
                    t, -- time in µs since 1970-01-01 UTC, on the device's time line
                    \(lines.joined(separator: "\n    "))
                FROM \(rowTable)
                """)
    }

    /// The view of the stream while samples of it may wait.
    /// - Parameters:
    ///   - id: the number of the stream in `_waiting`.
    ///   - order: the names of the columns in the order of the table, which is that of the values in `_waiting`.
    func waitingView(id: Int64, order: [String]) -> View {
        // With the types of the table's columns: otherwise SQLite copies all rows of the view before it applies a condition.
        let values = columns.map { column in
            let position = order.firstIndex(of: column.name).map { "sample.value ->> \($0 + 1)" } ?? "NULL"
            return "CAST(\(position) AS \(column.kind.sqlType))"
        }
        return View(
            name: table,
            select: """
                \(plainView.select)
                UNION ALL
                SELECT device_id, CAST(first_t + (sample.value ->> 0) AS INTEGER), \(values.joined(separator: ", "))
                FROM _waiting, json_each(rows) AS sample
                WHERE stream_id = \(id) AND \(isWaiting)
                """)
    }
}

extension SensorStream.Column {
    /// The comment of the column in the schema: unit, summary and words, such as `g: Along the x axis`.
    var comment: String {
        let text = [unit, summary].filter { !$0.isEmpty }.joined(separator: ": ")
        guard let words = kind.words else { return text }
        return (text.isEmpty ? "" : text + " ") + "(\(words.joined(separator: ", ")))"
    }
}

/// The columns that the table of a stream has.
struct RowColumns {
    /// The names of the columns of values, in the order of the table. Columns that are added later come last, so the position
    /// of a value in `_waiting` never changes.
    let order: [String]
    /// The index of the stream's column for each of them, or nil if this program does not know it.
    let indexes: [Int?]
    /// The columns of the stream in SQL, separated by commas. A column that the table lacks is replaced by NULL: this happens
    /// only in a reader, if a column was declared but no collector has opened the store since then.
    let list: String

    /// Reads the columns of the stream's table, or returns nil if the table does not exist.
    init?(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: stream.rowTable, in: database)
        guard !present.isEmpty else { return nil }
        order = present.filter { $0 != "device_id" && $0 != "t" }
        indexes = order.map { name in stream.columns.firstIndex { $0.name == name } }
        list = stream.columns.map { present.contains($0.name) ? $0.name : "NULL" }.joined(separator: ", ")
    }
}
