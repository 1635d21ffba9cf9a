import CZlib

/// Unpacks data in the formats gzip (RFC 1952) and zlib (RFC 1950).
public enum Inflate {
    /// The reason why data cannot be unpacked.
    public enum Problem: Error, Hashable, Sendable {
        /// The data are not in one of the formats, are damaged, or end early.
        case invalid
        /// The unpacked data have more bytes than the limit.
        case tooLarge
    }

    /// Unpacks data. Several members of gzip, one after the other, are one text.
    /// - Parameter limit: the maximum number of unpacked bytes. Never more than this and a block of 64 KB are in memory.
    /// - Throws: ``Problem``.
    public static func unpack(_ data: [UInt8], limit: Int) throws(Problem) -> [UInt8] {
        var stream = z_stream()
        guard inflate_init_any(&stream) == Z_OK else { throw .invalid }
        defer { inflateEnd(&stream) }
        var input = data
        let result = input.withUnsafeMutableBufferPointer { input in
            Result { () throws(Problem) in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(clamping: input.count)
                return try read(&stream, limit: limit)
            }
        }
        return try result.get()
    }

    private static func read(_ stream: inout z_stream, limit: Int) throws(Problem) -> [UInt8] {
        var output: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let (status, count) = block.withUnsafeMutableBufferPointer { block in
                stream.next_out = block.baseAddress
                stream.avail_out = UInt32(block.count)
                return (inflate(&stream, Z_NO_FLUSH), block.count - Int(stream.avail_out))
            }
            guard output.count + count <= limit else { throw .tooLarge }
            output += block[..<count]
            switch status {
            case Z_OK: break
            case Z_STREAM_END:
                guard stream.avail_in > 0 else { return output }
                guard inflateReset(&stream) == Z_OK else { throw .invalid }
            default: throw .invalid
            }
        }
    }
}
