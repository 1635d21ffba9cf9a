import CSQLite

// Access to the values of the current row. SQLite converts a value that has another type than requested.
extension SQLiteStatement {
    /// The number of columns.
    public var columnCount: Int { Int(sqlite3_column_count(handle)) }

    /// Returns whether a value is NULL.
    public func isNull(at column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }

    /// Returns an integer, or 0 for NULL.
    public func int64(at column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

    /// Returns an integer, or nil for NULL.
    public func optionalInt64(at column: Int) -> Int64? { isNull(at: column) ? nil : int64(at: column) }

    /// Returns a number, or NaN for NULL.
    public func double(at column: Int) -> Double {
        isNull(at: column) ? .nan : sqlite3_column_double(handle, Int32(column))
    }

    /// Returns a string, or nil for NULL.
    public func text(at column: Int) -> String? {
        guard let characters = sqlite3_column_text(handle, Int32(column)) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: characters, count: count), as: UTF8.self)
    }

    /// Returns a blob, or nil for NULL.
    public func bytes(at column: Int) -> [UInt8]? {
        guard !isNull(at: column) else { return nil }
        // SQLite returns a null pointer for an empty blob.
        guard let base = sqlite3_column_blob(handle, Int32(column)) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
    }
}

extension SQLiteStatement {
    /// Calls `body` with the bytes of a text, which are valid until it returns; none for NULL.
    public func withText(at column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        guard let characters = sqlite3_column_text(handle, Int32(column)) else { return }
        let count = Int(sqlite3_column_bytes(handle, Int32(column)))
        body(UnsafeBufferPointer(start: characters, count: count))
    }
}
