/// Rows that are inserted into one table.
struct TableInsert {
    /// The statement.
    let statement: String
    /// The encoded rows.
    let body: [UInt8]

    /// Creates an insert of rows in the format RowBinary.
    init(_ rows: [UInt8], into table: String, columns: [String]) {
        statement = "INSERT INTO \(table) (\(columns.joined(separator: ", "))) FORMAT RowBinary"
        body = rows
    }

    /// Creates an insert of samples in the format Native.
    init(_ rows: SampleRows) {
        let columns = rows.stream.receivedColumns.joined(separator: ", ")
        statement = "INSERT INTO \(rows.stream.receivedTable) (\(columns)) FORMAT Native"
        body = rows.encoded()
    }
}
