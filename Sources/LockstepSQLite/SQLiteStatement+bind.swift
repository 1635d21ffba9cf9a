import CSQLite

/// `SQLITE_TRANSIENT`: SQLite copies the bound value. Swift cannot import this C macro, because the macro is a cast.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

// Bind values before the first step, or after a reset. Each `bind` throws ``SQLiteError`` if the statement has no
// parameter with that index or if the value exceeds SQLite's length limit.
extension SQLiteStatement {
    /// Binds NULL.
    public func bindNull(at index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_null(handle, Int32(index)))
    }

    /// Binds an integer.
    public func bind(_ value: Int64, at index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, Int32(index), value))
    }

    /// Binds a number. NaN becomes NULL, because SQLite does not store NaN.
    public func bind(_ value: Double, at index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_double(handle, Int32(index), value))
    }

    /// Binds each integer to one of the parameters `first`, `first + stride`, `first + 2 * stride`, ….
    public func bind(_ values: ArraySlice<Int64>, from first: Int, every stride: Int) throws(SQLiteError) {
        var index = Int32(first)
        for value in values {
            try check(sqlite3_bind_int64(handle, index, value))
            index += Int32(stride)
        }
    }

    /// Binds each number to one of the parameters `first`, `first + stride`, `first + 2 * stride`, …. NaN becomes NULL.
    public func bind(_ values: ArraySlice<Double>, from first: Int, every stride: Int) throws(SQLiteError) {
        var index = Int32(first)
        for value in values {
            try check(sqlite3_bind_double(handle, index, value))
            index += Int32(stride)
        }
    }

    /// Binds a string, which may contain NUL characters.
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

    /// Binds UTF-8 as text.
    public func bindText(_ bytes: [UInt8], at index: Int) throws(SQLiteError) {
        let code = bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, !bytes.isEmpty else {
                return sqlite3_bind_text(handle, Int32(index), "", 0, copied)
            }
            return sqlite3_bind_text64(
                handle, Int32(index), base.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), copied,
                UInt8(SQLITE_UTF8))
        }
        try check(code)
    }

    /// Binds a blob. An empty buffer becomes an empty blob, not NULL.
    public func bind(_ value: UnsafeRawBufferPointer, at index: Int) throws(SQLiteError) {
        guard let base = value.baseAddress, !value.isEmpty else {
            try check(sqlite3_bind_zeroblob(handle, Int32(index), 0))
            return
        }
        try check(sqlite3_bind_blob64(handle, Int32(index), base, UInt64(value.count), copied))
    }

    /// Binds a blob. An empty array becomes an empty blob, not NULL.
    public func bind(_ value: [UInt8], at index: Int) throws(SQLiteError) {
        // The closure of `withUnsafeBytes` cannot throw a typed error, so it returns the error as a value.
        let result = value.withUnsafeBytes { bytes in
            Result { () throws(SQLiteError) in try bind(bytes, at: index) }
        }
        try result.get()
    }

    /// Binds an integer, or NULL for nil.
    public func bind(_ value: Int64?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }

    /// Binds a number, or NULL for nil.
    public func bind(_ value: Double?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }

    /// Binds a string, or NULL for nil.
    public func bind(_ value: String?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }

    /// Binds a blob, or NULL for nil.
    public func bind(_ value: [UInt8]?, at index: Int) throws(SQLiteError) {
        if let value { try bind(value, at: index) } else { try bindNull(at: index) }
    }
}

extension Double {
    /// Returns this number multiplied by `scale`, rounded to an integer, or nil if dividing that by `scale` would not restore
    /// this number exactly, or if SQLite would store it in more than six bytes.
    ///
    /// The integer is below 2⁵³, so if `scale` is exact as well, the quotient is rounded correctly.
    @inlinable
    public func exactInteger(scaledBy scale: Double) -> Int64? {
        let scaled = self * scale
        guard scaled.magnitude < 0x1p47 else { return nil }
        // Adding 1.5 · 2⁵² leaves no bits for decimals. A call of `rounded()` takes longer.
        let whole = (scaled + 0x1.8p52) - 0x1.8p52
        guard whole / scale == self, !(whole == 0 && sign == .minus) else { return nil }
        return Int64(whole)
    }
}
