/// Reads values from ClickHouse's format RowBinary, see ``RowBinary``.
struct RowBinaryReader {
    /// The body of an answer ends within a row.
    struct Truncated: Error {}

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether all values have been read.
    var isAtEnd: Bool { position == bytes.count }

    /// Reads a number of type UInt64.
    mutating func unsigned() throws(Truncated) -> UInt64 {
        guard bytes.count - position >= 8 else { throw Truncated() }
        defer { position += 8 }
        return bytes.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// Reads a number of type Int64.
    mutating func integer() throws(Truncated) -> Int64 { Int64(bitPattern: try unsigned()) }

    /// Reads a number of type Float64.
    mutating func double() throws(Truncated) -> Double { Double(bitPattern: try unsigned()) }

    /// Reads a text of type String.
    mutating func text() throws(Truncated) -> String {
        var count = 0
        var shift = 0
        var part: UInt8
        repeat {
            part = try byte()
            guard shift < 35 else { throw Truncated() }
            count |= Int(part & 127) << shift
            shift += 7
        } while part >= 128
        guard bytes.count - position >= count else { throw Truncated() }
        defer { position += count }
        return String(decoding: bytes[position..<position + count], as: UTF8.self)
    }

    /// Reads the byte in front of a nullable value.
    mutating func isNull() throws(Truncated) -> Bool { try byte() != 0 }

    private mutating func byte() throws(Truncated) -> UInt8 {
        guard position < bytes.count else { throw Truncated() }
        defer { position += 1 }
        return bytes[position]
    }
}
