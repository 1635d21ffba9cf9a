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
        let lines = columns.map { "\($0.storedColumns.joined(separator: ", ")), -- \($0.comment)" }
        let real = columns.first { $0.kind == .real }.map { column in
            let names = column.storedNames
            return
                "\n    -- \(column.name) is \(names[0]) / 1e6, or \(names[1]) if it is not a whole number of millionths."
        }
        return """
            CREATE TABLE \(rowTable) (
                -- \(name): \(summary). The view \(table) shows these rows and those that wait.\(real ?? "")
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
            "\(column.selected)\(index == columns.count - 1 ? "" : ",") -- \(column.comment)"
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
        // With the types of the table: otherwise SQLite copies all rows of the view before it applies a condition.
        let values = columns.map { column in
            let value = order.firstIndex(of: column.name).map { "sample.value ->> \($0 + 1)" } ?? "NULL"
            return column.kind == .real ? "(\(value)) / scale" : "CAST(\(value) AS \(column.kind.sqlType))"
        }
        return View(
            name: table,
            select: """
                \(plainView.select)
                UNION ALL
                SELECT device_id, CAST(first_t + sample.key * (\(WaitingRows.step)) + (sample.value ->> 0) AS INTEGER),
                    \(values.joined(separator: ", "))
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

    /// The column of the table with the value: of a real number, in millionths.
    ///
    /// Most measured values have up to six decimals. As whole numbers they take three or four bytes instead of eight, so
    /// that a store is smaller by a third. A query of the view divides them, which takes as long as it saves in reading.
    /// Names of declared columns never begin with `_`.
    var storedName: String { kind == .real ? "_\(name)" : name }

    /// The column of the table for real numbers that are not a whole number of millionths.
    private var otherName: String { "__\(name)" }

    /// The names of the columns of the table.
    var storedNames: [String] { kind == .real ? [storedName, otherName] : [name] }

    /// The definitions of the columns of the table.
    var storedColumns: [String] {
        kind == .real ? ["\(storedName) INTEGER", "\(otherName) REAL"] : ["\(name) \(kind.sqlType)"]
    }

    /// The value in SQL. The quotient of whole numbers is rounded correctly, so it is exactly the number that was stored.
    fileprivate var value: String { kind == .real ? "ifnull(\(storedName) / 1e6, \(otherName))" : name }

    /// The value in SQL under its name.
    fileprivate var selected: String { kind == .real ? "\(value) AS \(name)" : name }
}

/// The columns that the table of a stream has.
struct RowColumns {
    /// The names of the columns of values, in the order of the table. Columns that are added later come last, so the position
    /// of a value in `_waiting` never changes.
    let order: [String]
    /// The index of the stream's column for each of them, or nil if this program does not know it.
    let indexes: [Int?]
    /// The values of the stream in SQL, separated by commas, with the names of the columns.
    let list: String

    /// Reads the columns of the stream's table, or returns nil if the table does not exist.
    init?(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: stream.rowTable, in: database)
        guard !present.isEmpty else { return nil }
        let order = present.filter { $0 != "device_id" && $0 != "t" && !$0.hasPrefix("__") }
            .map { $0.hasPrefix("_") ? String($0.dropFirst()) : $0 }
        self.order = order
        indexes = order.map { name in stream.columns.firstIndex { $0.name == name } }
        list = stream.columns.map { order.contains($0.name) ? $0.selected : "NULL AS \($0.name)" }
            .joined(separator: ", ")
    }

    /// Returns the value of a column in SQL. A column that the table lacks is NULL: this happens only in a reader, if a column
    /// was declared but no collector has opened the store since then.
    func value(of column: SensorStream.Column) -> String { order.contains(column.name) ? column.value : "NULL" }
}
