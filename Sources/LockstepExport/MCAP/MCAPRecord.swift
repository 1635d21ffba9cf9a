/// The kinds of records of MCAP that the writer uses (https://mcap.dev/spec).
enum MCAPOpcode: UInt8 {
    case header = 0x01
    case footer = 0x02
    case schema = 0x03
    case channel = 0x04
    case message = 0x05
    case chunk = 0x06
    case messageIndex = 0x07
    case chunkIndex = 0x08
    case statistics = 0x0B
    case metadata = 0x0C
    case summaryOffset = 0x0E
    case dataEnd = 0x0F
}

/// The magic bytes at both ends of an MCAP file.
let mcapMagic: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]

extension [UInt8] {
    /// Appends a whole number in little-endian order.
    mutating func append(number: some FixedWidthInteger & UnsignedInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a text in UTF-8 with its length.
    mutating func append(text: String) {
        append(number: UInt32(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    /// Appends the content that `body` writes, with its length in `Length` before it.
    mutating func append<Length: FixedWidthInteger & UnsignedInteger>(
        length: Length.Type, _ body: (inout [UInt8]) -> Void
    ) {
        let start = count
        append(number: Length(0))
        body(&self)
        let size = MemoryLayout<Length>.size
        Swift.withUnsafeBytes(of: Length(count - start - size).littleEndian) { bytes in
            for (index, byte) in bytes.enumerated() { self[start + index] = byte }
        }
    }

    /// Appends texts with their keys.
    mutating func append(map: [(key: String, value: String)]) {
        append(length: UInt32.self) { bytes in
            for (key, value) in map {
                bytes.append(text: key)
                bytes.append(text: value)
            }
        }
    }

    /// Appends a record with the content that `body` writes.
    mutating func append(record opcode: MCAPOpcode, _ body: (inout [UInt8]) -> Void) {
        append(opcode.rawValue)
        append(length: UInt64.self, body)
    }
}
