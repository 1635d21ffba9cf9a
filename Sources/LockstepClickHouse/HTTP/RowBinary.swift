/// Rows in ClickHouse's format RowBinary: the values of each row in the order of the columns, without separators.
/// Numbers are little-endian, texts have their length in front as LEB128, and a nullable value has a byte in front that
/// is 1 for NULL.
struct RowBinary {
    /// The encoded rows.
    var bytes: [UInt8] = []
    /// The number of rows, as counted by ``endRow()``.
    var count = 0

    /// Whether there are no rows.
    var isEmpty: Bool { count == 0 }

    /// Appends a number of type Int64.
    mutating func append(_ value: Int64) { append(UInt64(bitPattern: value)) }

    /// Appends a number of type UInt64.
    mutating func append(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
    }

    /// Appends a number of type Float64.
    mutating func append(_ value: Double) { append(value.bitPattern) }

    /// Appends a text of type String.
    mutating func append(_ text: String) { append(Array(text.utf8)) }

    /// Appends bytes of type String.
    mutating func append(_ text: [UInt8]) {
        var rest = text.count
        while rest > 127 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
        bytes += text
    }

    /// Appends a number of type Nullable(Float64).
    mutating func append(_ value: Double?) {
        bytes.append(value == nil ? 1 : 0)
        if let value { append(value) }
    }

    /// Appends a number of type Nullable(Int64).
    mutating func append(_ value: Int64?) {
        bytes.append(value == nil ? 1 : 0)
        if let value { append(value) }
    }

    /// Appends a text of type Nullable(String).
    mutating func append(_ text: String?) {
        bytes.append(text == nil ? 1 : 0)
        if let text { append(text) }
    }

    /// Appends a byte: 1 for a NULL, 0 for a value that follows.
    mutating func append(isNull: Bool) { bytes.append(isNull ? 1 : 0) }

    /// Ends a row.
    mutating func endRow() { count += 1 }

    /// Removes all rows, but keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }
}
