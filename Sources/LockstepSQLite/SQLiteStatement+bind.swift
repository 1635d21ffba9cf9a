import CSQLite

/// Tells SQLite to copy what it is given: `SQLITE_TRANSIENT`, a C macro of a cast that Swift doesn't import.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

// Values are bound between a reset and the first step; each `bind` throws ``SQLiteError`` for an index that the
// statement doesn't have, or a value beyond SQLite's length limit.
extension SQLiteStatement {
    /// Binds NULL.
    public func bindNull(at index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_null(handle, Int32(index)))
    }

    /// Binds a whole number.
    public func bind(_ value: Int64, at index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, Int32(index), value))
    }

    /// Binds a number. Not a number is NULL: SQLite stores no NaN.
    public func bind(_ value: Double, at index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_double(handle, Int32(index), value))
    }

    /// Binds whole numbers to the parameters `first`, `first + stride`, ….
    public func bind(_ values: ArraySlice<Int64>, from first: Int, every stride: Int) throws(SQLiteError) {
        var index = Int32(first)
        for value in values {
            try check(sqlite3_bind_int64(handle, index, value))
            index += Int32(stride)
        }
    }

    /// Binds numbers to the parameters `first`, `first + stride`, …. Not a number is NULL.
    public func bind(_ values: ArraySlice<Double>, from first: Int, every stride: Int) throws(SQLiteError) {
        var index = Int32(first)
        for value in values {
            try check(sqlite3_bind_double(handle, index, value))
            index += Int32(stride)
        }
    }

    /// Binds a text, with all its characters.
    public func bind(_ value: String, at index: Int) throws(SQLiteError) {
        var value = value
        let code = value.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                // A null pointer would bind NULL.
                guard let base = characters.baseAddress, !characters.isEmpty else {
                    return sqlite3_bind_text(handle, Int32(index), "", 0, copied)
                }
                return sqlite3_bind_text64(
                    handle, Int32(index), base, UInt64(characters.count), copied, UInt8(SQLITE_UTF8))
            }
        }
        try check(code)
    }

    /// Binds bytes; none of them are an empty blob, not NULL.
    public func bind(_ value: UnsafeRawBufferPointer, at index: Int) throws(SQLiteError) {
        guard let base = value.baseAddress, !value.isEmpty else {
            try check(sqlite3_bind_zeroblob(handle, Int32(index), 0))
            return
        }
        try check(sqlite3_bind_blob64(handle, Int32(index), base, UInt64(value.count), copied))
    }

    /// Binds bytes; none of them are an empty blob, not NULL.
    public func bind(_ value: [UInt8], at index: Int) throws(SQLiteError) {
        // The closure of `withUnsafeBytes` can't throw this type, so the error comes out as a value.
        let result = value.withUnsafeBytes { bytes in
            Result { () throws(SQLiteError) in try bind(bytes, at: index) }
        }
        try result.get()
    }

    /// Binds a whole number, or NULL.
    public func bind(_ value: Int64?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }

    /// Binds a number, or NULL.
    public func bind(_ value: Double?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }

    /// Binds a text, or NULL.
    public func bind(_ value: String?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }

    /// Binds bytes, or NULL.
    public func bind(_ value: [UInt8]?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }
}
