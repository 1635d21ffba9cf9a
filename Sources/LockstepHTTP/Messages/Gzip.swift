import CZlib
package import HTTPTypes

/// Compresses answers in the format gzip (RFC 1952).
package final class Gzip {
    private var stream = z_stream()

    /// Creates a compressor of a stream, which uses 48 KB of memory: there may be many streams at the same time.
    package init() { precondition(deflate_init_gzip_window(&stream, 4, 12, 5) == Z_OK, "no memory for zlib") }

    private init(whole: Void) {
        precondition(deflate_init_gzip_window(&stream, 6, 15, 8) == Z_OK, "no memory for zlib")
    }

    deinit { deflateEnd(&stream) }

    /// Returns the compressed form of a whole document.
    package static func document(_ bytes: [UInt8]) -> [UInt8] { Gzip(whole: ()).compress(bytes, flush: Z_FINISH) }

    /// Returns the next part of a compressed stream, with which the client can unpack all bytes so far.
    package func part(_ bytes: [UInt8]) -> [UInt8] { compress(bytes, flush: Z_SYNC_FLUSH) }

    private func compress(_ bytes: [UInt8], flush: Int32) -> [UInt8] {
        var input = bytes
        var output: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 32 << 10)
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            // A full block may have more after it.
            repeat {
                let count = block.withUnsafeMutableBufferPointer { block in
                    stream.next_out = block.baseAddress
                    stream.avail_out = UInt32(block.count)
                    _ = deflate(&stream, flush)
                    return block.count - Int(stream.avail_out)
                }
                output += block[..<count]
            } while stream.avail_out == 0
        }
        return output
    }

    /// Returns whether a client accepts gzip, by its field `Accept-Encoding`.
    package static func isAccepted(_ fields: HTTPFields) -> Bool {
        fields[values: .acceptEncoding].joined(separator: ",").split(separator: ",").contains { coding in
            let parts = coding.lowercased().filter { $0 != " " }.split(separator: ";")
            guard let name = parts.first, name == "gzip" || name == "x-gzip" else { return false }
            return !parts.dropFirst().contains {
                $0.hasPrefix("q=0") && !$0.dropFirst(3).contains { "123456789".contains($0) }
            }
        }
    }

    /// Returns whether documents of a media type become smaller.
    package static func isUseful(for type: String?) -> Bool {
        guard let type = type?.prefix(while: { $0 != ";" }) else { return false }
        return type.hasPrefix("text/") || type.hasSuffix("json") || type.hasSuffix("xml") || type.hasSuffix("script")
    }
}
