/// A block of rows in ClickHouse's format Native: the numbers of columns and rows, then for each column its name, its type and
/// all of its values. The server reads a column of numbers without looking at each value.
///
/// Lengths are LEB128 and numbers little-endian, as in the memory of every platform of Lockstep. A nullable column has a byte
/// for each row in front, which is 1 for NULL.
struct NativeBlock {
    /// The maximum size of a length.
    static let maxLength = 10

    private let start: UnsafeMutableRawPointer
    private let capacity: Int
    private var used = 0

    /// Returns the block that `write` encodes.
    /// - Parameter capacity: the maximum size of all values.
    static func encoded(
        rows: Int, columns: Int, capacity: Int, _ write: (inout NativeBlock) -> Void
    ) -> [UInt8] {
        // Names and types are short.
        let size = capacity + 2 * maxLength + columns * maxHead
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var block = NativeBlock(start: UnsafeMutableRawPointer(start), capacity: size)
            block.append(length: columns)
            block.append(length: rows)
            write(&block)
            count = block.used
        }
    }

    /// The maximum size of a column's name and type.
    private static let maxHead = 512

    private init(start: UnsafeMutableRawPointer, capacity: Int) {
        self.start = start
        self.capacity = capacity
    }

    /// Begins a column. Its values follow.
    mutating func beginColumn(_ name: String, _ type: String) {
        precondition(name.utf8.count + type.utf8.count + 2 * Self.maxLength <= Self.maxHead)
        append(name)
        append(type)
    }

    /// Appends the same value several times.
    mutating func append<Value: BitwiseCopyable>(_ value: Value, count: Int) {
        reserve(count * MemoryLayout<Value>.size) { target in
            for index in 0..<count {
                target.storeBytes(of: value, toByteOffset: index * MemoryLayout<Value>.size, as: Value.self)
            }
        }
    }

    /// Appends the values of the ranges of `order`.
    mutating func append<Value: BitwiseCopyable>(_ values: [Value], _ order: [Range<Int>]) {
        append(values, order) { $0 }
    }

    /// Appends a column of type Nullable(Float64). NaN is NULL.
    mutating func append(nullable values: [Double], _ order: [Range<Int>]) {
        append(values, order) { $0.isNaN ? 1 : 0 as UInt8 }
        // Adding 0 turns -0 into 0.
        append(values, order) { $0.isNaN ? 0 : $0 + 0 }
    }

    /// Appends a column of type Nullable(Int64). NaN is NULL.
    mutating func append(nullableIntegers values: [Double], _ order: [Range<Int>]) {
        append(values, order) { $0.isNaN ? 1 : 0 as UInt8 }
        append(values, order) { $0.isNaN ? 0 : Int64($0) }
    }

    /// Appends a column of type Nullable(String).
    mutating func append(nullableTexts values: [Double], _ order: [Range<Int>], _ text: (Double) -> String?) {
        append(values, order) { text($0) == nil ? 1 : 0 as UInt8 }
        for range in order {
            for value in values[range] { append(text(value) ?? "") }
        }
    }

    private mutating func append<Value: BitwiseCopyable, Stored: BitwiseCopyable>(
        _ values: [Value], _ order: [Range<Int>], _ stored: (Value) -> Stored
    ) {
        let size = MemoryLayout<Stored>.size
        reserve(order.reduce(0) { $0 + $1.count } * size) { target in
            values.withUnsafeBufferPointer { values in
                var offset = 0
                for range in order {
                    for index in range {
                        target.storeBytes(of: stored(values[index]), toByteOffset: offset, as: Stored.self)
                        offset += size
                    }
                }
            }
        }
    }

    private mutating func append(_ text: String) {
        append(length: text.utf8.count)
        for byte in text.utf8 { append(byte) }
    }

    private mutating func append(length: Int) {
        var rest = length
        while rest > 127 {
            append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    private mutating func append(_ byte: UInt8) {
        reserve(1) { $0.storeBytes(of: byte, as: UInt8.self) }
    }

    /// Lets `write` fill the next `size` bytes.
    private mutating func reserve(_ size: Int, _ write: (UnsafeMutableRawPointer) -> Void) {
        precondition(used + size <= capacity, "the block is larger than its capacity")
        write(start + used)
        used += size
    }
}

/// Rows in ClickHouse's format RowBinary: the values of each row in the order of the columns, without separators.
/// Numbers are little-endian, texts have their length in front as LEB128, and a nullable value has a byte in front that
/// is 1 for NULL.
struct RowBinary {
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

    mutating func endRow() { count += 1 }

    /// Removes all rows, but keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        count = 0
    }
}

/// Rows that are inserted into one table.
struct TableInsert {
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
