import LockstepModel

// Names of tables and columns are not quoted, which keeps the schema readable. Reserved words of SQL therefore cannot
// be names.
extension SensorStream {
    /// The statement that creates the stream's table of merged rows.
    var createTable: String {
        let lines = columns.map(\.mergedDefinition).map { "\($0.sql), -- \($0.comment)" }
        return """
            CREATE TABLE \(mergedTable) (
                -- \(name): \(summary). The view \(table) shows these rows and those of the logs.
                device_id INTEGER NOT NULL REFERENCES merged_devices,
                t INTEGER NOT NULL, -- time in µs since 1970-01-01 UTC, on the device's time line
                \(lines.joined(separator: "\n    "))
                PRIMARY KEY (device_id, t)
            ) WITHOUT ROWID
            """
    }

    /// The view of the stream's table with device names and readable times.
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
                    sample.t AS t -- µs since 1970; use this column in conditions, because it is indexed
                FROM \(table) AS sample JOIN merged_devices USING (device_id)
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
