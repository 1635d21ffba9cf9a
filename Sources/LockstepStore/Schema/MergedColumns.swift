import LockstepModel
import LockstepSQLite

/// The columns of a stream's table of merged rows, as they are stored.
///
/// A real number is stored in a column without a type, whose name begins with `_`, in the form of ``StoredReal``. A
/// computed column has the number itself. Before schema 11, real numbers were stored in their own column. Such columns
/// stay as they are: rewriting the rows of a large store would take long.
struct MergedColumns {
    /// The name of the stored column for each column of the stream, or nil if the table has none.
    let names: [String?]
    /// Whether each stored column has the form of ``StoredReal``.
    let isShort: [Bool]

    /// Reads the columns of the stream's table, or returns nil if the table does not exist.
    init?(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: stream.mergedTable, in: database)
        guard !present.isEmpty else { return nil }
        let plain = try StoreSchema.plainColumns(of: stream.mergedTable, in: database)
        isShort = stream.columns.map { $0.kind == .real && present.contains($0.name) && !plain.contains($0.name) }
        names = zip(stream.columns, isShort).map { column, isShort in
            isShort ? column.storedName : present.contains(column.name) ? column.name : nil
        }
    }

    /// The names of the stored columns, separated by commas. Read their values with `readStored`.
    ///
    /// A column that the table does not have is replaced by NULL. This happens only in a reader: if a column was added to
    /// the stream, but no collector has opened the store since then.
    var list: String { names.map { $0 ?? "NULL" }.joined(separator: ", ") }
}

extension SensorStream.Column {
    /// The name of the column that stores a real number. The names of streams' columns begin with a letter.
    var storedName: String { "_\(name)" }

    /// The definitions of the column in a table of merged rows, with comments.
    var mergedDefinitions: [(sql: String, comment: String)] {
        guard kind == .real else { return [("\(name) \(kind.sqlType)", comment)] }
        return [
            (storedName, "\(name) in millionths, or \(name) itself if it has more decimals"),
            // Without a type: SQLite would return a whole number of a REAL column as an integer after sorting.
            ("\(name) GENERATED ALWAYS AS (\(StoredReal.valueSQL(storedName)))", comment),
        ]
    }
}
