import CSQLite

// Values of the row that `step()` has reached. SQLite converts between types where a getter asks for another one.
extension SQLiteStatement {
    /// How many columns a row has.
    public var columnCount: Int { Int(sqlite3_column_count(handle)) }

    /// The columns' names, as in the SELECT.
    public var columnNames: [String] {
        (0..<sqlite3_column_count(handle)).map { index in
            sqlite3_column_name(handle, index).map { String(cString: $0) } ?? ""
        }
    }

    /// Whether the value is NULL.
    public func isNull(at column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }

    /// A whole number; 0 for NULL.
    public func int64(at column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

    /// A whole number, or nil for NULL.
    public func optionalInt64(at column: Int) -> Int64? { isNull(at: column) ? nil : int64(at: column) }

    /// A number; not a number for NULL.
    public func double(at column: Int) -> Double {
        isNull(at: column) ? .nan : sqlite3_column_double(handle, Int32(column))
    }

    /// A text, or nil for NULL.
    public func text(at column: Int) -> String? {
        guard let characters = sqlite3_column_text(handle, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: characters, count: count), as: UTF8.self)
    }

    /// Bytes, or nil for NULL.
    public func bytes(at column: Int) -> [UInt8]? {
        guard !isNull(at: column) else { return nil }
        // An empty blob has no address.
        guard let base = sqlite3_column_blob(handle, Int32(column)) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
    }
}
