import CZlib

/// Compresses in the format gzip (RFC 1952), part by part.
package final class Gzip {
    /// What must be readable after a part.
    package enum Flush {
        case nothing, allSoFar, end

        fileprivate var code: Int32 {
            switch self {
            case .nothing: Z_NO_FLUSH
            case .allSoFar: Z_SYNC_FLUSH
            case .end: Z_FINISH
            }
        }
    }

    private var stream = z_stream()

    /// - Parameter isSmall: whether it uses only 48 KB of memory, because there may be many at the same time.
    package init(isSmall: Bool = false) {
        let code =
            isSmall ? deflate_init_gzip_window(&stream, 4, 12, 5) : deflate_init_gzip_window(&stream, 6, 15, 8)
        precondition(code == Z_OK, "no memory for zlib")
    }

    deinit { deflateEnd(&stream) }

    /// Returns what the next bytes add.
    package func compress(_ bytes: [UInt8], _ flush: Flush = .nothing) -> [UInt8] {
        var (input, output): ([UInt8], [UInt8]) = (bytes, [])
        var block = [UInt8](repeating: 0, count: 64 << 10)
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            // A full block may have more after it.
            repeat {
                output += block[..<stream.run(&block) { deflate($0, flush.code) }.count]
            } while stream.avail_out == 0
        }
        return output
    }
}

/// Unpacks data in the formats gzip (RFC 1952) and zlib (RFC 1950), part by part. Several members of gzip, one after the other,
/// are one text.
package final class Inflate {
    /// The reason why data cannot be unpacked.
    package enum Problem: Error, Hashable, Sendable {
        /// The data are not in one of the formats, are damaged, or end early.
        case invalid
        /// The unpacked data have more bytes than the limit.
        case tooLarge
    }

    private var stream = z_stream()
    /// Whether the data may end here.
    package private(set) var isAtEnd = false

    package init() { precondition(inflate_init_any(&stream) == Z_OK, "no memory for zlib") }

    deinit { inflateEnd(&stream) }

    /// Calls `body` with the content of the next bytes, in blocks of up to 64 KB.
    /// - Throws: ``Problem/invalid``, or the error of `body`.
    package func unpack(_ bytes: [UInt8], _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        var input = bytes
        var block = [UInt8](repeating: 0, count: 64 << 10)
        try input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(clamping: input.count)
            repeat {
                if isAtEnd, stream.avail_in > 0, inflateReset(&stream) != Z_OK { throw Problem.invalid }
                let (code, count) = stream.run(&block) { inflate($0, Z_NO_FLUSH) }
                guard [Z_OK, Z_STREAM_END, Z_BUF_ERROR].contains(code) else { throw Problem.invalid }
                isAtEnd = code == Z_STREAM_END
                try body(block[..<count])
            } while stream.avail_in > 0 || stream.avail_out == 0 && !isAtEnd
        }
    }

    /// Unpacks a whole text.
    /// - Parameter limit: the maximum number of unpacked bytes. Never more than this and a block are in memory.
    /// - Throws: ``Problem``.
    package static func unpack(_ data: [UInt8], limit: Int) throws(Problem) -> [UInt8] {
        let inflate = Inflate()
        var output: [UInt8] = []
        do {
            try inflate.unpack(data) { part in
                guard output.count + part.count <= limit else { throw Problem.tooLarge }
                output += part
            }
        } catch { throw error as? Problem ?? .invalid }
        guard inflate.isAtEnd else { throw .invalid }
        return output
    }
}

extension z_stream {
    /// Lets `body` fill a block.
    fileprivate mutating func run(
        _ block: inout [UInt8], _ body: (UnsafeMutablePointer<z_stream>) -> Int32
    ) -> (code: Int32, count: Int) {
        block.withUnsafeMutableBufferPointer { block in
            next_out = block.baseAddress
            avail_out = UInt32(block.count)
            return (body(&self), block.count - Int(avail_out))
        }
    }
}
