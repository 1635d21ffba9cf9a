import LockstepModel

// Names of streams and columns stand unquoted, for people who read the schema: SQL's reserved words can't be names.
extension SensorStream {
    /// The statement that makes the stream's table.
    var createTable: String {
        let lines = columns.map { column in "\(column.name) \(column.kind.sqlType), -- \(column.comment)" }
        return """
            CREATE TABLE \(table) (
                -- \(name): \(summary)
                device_id INTEGER NOT NULL REFERENCES devices, -- whose sample it is
                t INTEGER NOT NULL, -- when, in µs since 1970-01-01 UTC, on the device's time line
                \(lines.joined(separator: "\n    "))
                PRIMARY KEY (device_id, t)
            ) WITHOUT ROWID
            """
    }

    /// The view of the stream's table with names and readable times.
    var view: View {
        let values = columns.map { column in
            column.isTime ? "\(isoTime("sample.\(column.name)")) AS \(column.name)" : "sample.\(column.name)"
        }
        return View(
            name: "v_\(table)",
            select: """
                -- \(name): \(summary); units: see the table \(table)
                SELECT group_name, device, \(isoTime("sample.t")) AS time,
                    \(values.joined(separator: ",\n    ")),
                    sample.t AS t -- µs since 1970: compare with this one, it uses the index
                FROM \(table) AS sample JOIN devices USING (device_id)
                """)
    }
}

extension SensorStream.Column {
    /// What the schema says of the column: `g: Along the x axis`.
    var comment: String {
        let words =
            switch kind {
            case .choice(let words): " (\(words.joined(separator: ", ")))"
            case .real, .integer: ""
            }
        return (unit.isEmpty ? summary : "\(unit): \(summary)") + words
    }

    /// Whether its values are points in time, in µs since 1970.
    fileprivate var isTime: Bool { kind == .integer && unit == "µs since 1970" }
}
