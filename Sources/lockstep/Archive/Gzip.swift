import CSodium
import CZlib

/// Compresses a file of gzip, part by part.
final class GzipWriter {
    private var stream = z_stream()

    init() { precondition(deflate_init_gzip_window(&stream, 6, 15, 8) == Z_OK, "zlib has no memory") }

    deinit { deflateEnd(&stream) }

    /// Returns what the next bytes, or the end, add to the file.
    func compress(_ bytes: [UInt8], isLast: Bool = false) -> [UInt8] {
        var input = bytes
        var result: [UInt8] = []
        var output = [UInt8](repeating: 0, count: 65_536)
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            repeat {
                let room = output.count
                output.withUnsafeMutableBufferPointer { output in
                    stream.next_out = output.baseAddress
                    stream.avail_out = UInt32(room)
                    _ = deflate(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                }
                result += output[..<(room - Int(stream.avail_out))]
            } while stream.avail_out == 0
        }
        return result
    }
}

/// Decompresses a file of gzip, part by part.
final class GzipReader {
    private var stream = z_stream()
    /// Whether the end of the file was found.
    private(set) var isAtEnd = false

    init() { precondition(inflate_init_any(&stream) == Z_OK, "zlib has no memory") }

    deinit { inflateEnd(&stream) }

    /// Calls `body` with the content of the next bytes.
    /// - Returns: whether they are valid.
    func decompress(_ bytes: [UInt8], _ body: (ArraySlice<UInt8>) throws -> Void) rethrows -> Bool {
        var input = bytes
        var output = [UInt8](repeating: 0, count: 65_536)
        return try input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            repeat {
                let room = output.count
                let code = output.withUnsafeMutableBufferPointer { output in
                    stream.next_out = output.baseAddress
                    stream.avail_out = UInt32(room)
                    return inflate(&stream, Z_NO_FLUSH)
                }
                guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(code) else { return false }
                isAtEnd = code == Z_STREAM_END
                try body(output[..<(room - Int(stream.avail_out))])
            } while stream.avail_out == 0 && !isAtEnd
            return true
        }
    }
}

/// The SHA-256 of parts of a file.
struct SHA256 {
    private var state = crypto_hash_sha256_state()

    init() { crypto_hash_sha256_init(&state) }

    mutating func update(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        crypto_hash_sha256_update(&state, bytes, UInt64(bytes.count))
    }

    /// The hash as lower-case hexadecimal digits.
    var digits: String {
        var state = state
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256_final(&state, &digest)
        return digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
