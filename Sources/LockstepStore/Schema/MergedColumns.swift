import LockstepModel
import LockstepSQLite

/// The columns of a stream's table of merged rows, as they are stored.
///
/// A real number is stored in a column without a type, whose name begins with `_`, in the form of ``StoredReal``. The view
/// of the stream has the number itself. A computed column of the table would be evaluated for each row that is inserted.
/// Before schema 11, real numbers were stored in columns with their own names. Such columns stay as they are: rewriting
/// the rows of a large store would take long.
struct MergedColumns {
    /// The name of the stored column for each column of the stream, or nil if the table has none.
    let names: [String?]
    /// Whether each stored column has the form of ``StoredReal``.
    let isShort: [Bool]

    /// Reads the columns of the stream's table, or returns nil if the table does not exist.
    init?(of stream: SensorStream, in database: SQLiteDatabase) throws(SQLiteError) {
        let present = try StoreSchema.columns(of: stream.mergedTable, in: database)
        guard !present.isEmpty else { return nil }
        isShort = stream.columns.map { $0.isShort(among: present) }
        names = zip(stream.columns, isShort).map { column, isShort in
            let name = isShort ? column.storedName : column.name
            return present.contains(name) ? name : nil
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

    /// Whether the column has the form of ``StoredReal``, or will have it because the table lacks it.
    /// - Parameter present: the columns of the table of merged rows.
    func isShort(among present: Set<String>) -> Bool { kind == .real && !present.contains(name) }

    /// The definition of the column in a new table of merged rows, and its comment.
    var mergedDefinition: (sql: String, comment: String) {
        guard kind == .real else { return ("\(name) \(kind.sqlType)", comment) }
        return (storedName, "\(comment.isEmpty ? name : comment); in millionths, or as it is if it has more decimals")
    }
}
