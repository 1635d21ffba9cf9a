/// Encodes structs in Thrift's compact protocol, as the metadata of Parquet has them.
struct ThriftWriter {
    private(set) var bytes: [UInt8] = []
    /// The ids of the previous fields of the open structs.
    private var fields: [Int] = [0]

    /// The types of list elements.
    enum Element: UInt8 { case int32 = 5, binary = 8, structure = 12 }

    mutating func int32(_ field: Int, _ value: Int) {
        header(field, 5)
        zigzag(value)
    }

    mutating func int64(_ field: Int, _ value: Int) {
        header(field, 6)
        zigzag(value)
    }

    mutating func boolean(_ field: Int, _ value: Bool) { header(field, value ? 1 : 2) }

    mutating func text(_ field: Int, _ value: String) {
        header(field, 8)
        append(value)
    }

    mutating func structure(_ field: Int, _ body: (inout ThriftWriter) -> Void = { _ in }) {
        header(field, 12)
        element(body)
    }

    /// Begins a list. Its elements follow with ``element(_:)``, ``append(_:)`` or ``zigzag(_:)``.
    mutating func list(_ field: Int, of element: Element, count: Int) {
        header(field, 9)
        if count < 15 {
            bytes.append(UInt8(count) << 4 | element.rawValue)
        } else {
            bytes.append(0xF0 | element.rawValue)
            varint(UInt64(count))
        }
    }

    /// Writes a struct without a field, such as an element of a list or the whole document.
    mutating func element(_ body: (inout ThriftWriter) -> Void) {
        fields.append(0)
        body(&self)
        fields.removeLast()
        bytes.append(0)
    }

    mutating func append(_ value: String) {
        varint(UInt64(value.utf8.count))
        bytes.append(contentsOf: value.utf8)
    }

    mutating func zigzag(_ value: Int) { varint(UInt64(bitPattern: Int64(value << 1 ^ value >> 63))) }

    private mutating func header(_ field: Int, _ type: UInt8) {
        // The fields of Parquet are in order and fewer than 16 apart.
        bytes.append(UInt8(field - fields[fields.count - 1]) << 4 | type)
        fields[fields.count - 1] = field
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
