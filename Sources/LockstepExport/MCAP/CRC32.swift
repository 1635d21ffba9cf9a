/// The CRC-32 of ISO 3309 (as in zlib), which MCAP uses.
///
/// It processes eight bytes at a time with eight tables, because a table lookup per byte would take longer than
/// formatting the bytes.
struct CRC32 {
    private var state: UInt32 = 0xFFFF_FFFF

    /// The checksum of the bytes so far.
    var value: UInt32 { ~state }

    /// Returns the checksum of `bytes`.
    static func of(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var checksum = CRC32()
        checksum.update(Array(bytes))
        return checksum.value
    }

    mutating func update(_ bytes: [UInt8]) {
        var state = state
        bytes.withUnsafeBytes { bytes in
            Self.tables.withUnsafeBufferPointer { tables in
                var index = 0
                while index + 8 <= bytes.count {
                    let low = bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self).littleEndian ^ state
                    let high = bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self).littleEndian
                    state = 0
                    for byte in 0..<4 {
                        let shift = UInt32(byte * 8)
                        state ^= tables[(7 - byte) << 8 | Int(low >> shift & 0xFF)]
                        state ^= tables[(3 - byte) << 8 | Int(high >> shift & 0xFF)]
                    }
                    index += 8
                }
                while index < bytes.count {
                    state = tables[Int((state ^ UInt32(bytes[index])) & 0xFF)] ^ state >> 8
                    index += 1
                }
            }
        }
        self.state = state
    }

    /// Table k (of 256 entries) has the checksum of a byte that is followed by k zero bytes.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            tables[byte] = (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ crc >> 1 : crc >> 1 }
        }
        for index in 256..<tables.count {
            let previous = tables[index - 256]
            tables[index] = tables[Int(previous & 0xFF)] ^ previous >> 8
        }
        return tables
    }()
}
