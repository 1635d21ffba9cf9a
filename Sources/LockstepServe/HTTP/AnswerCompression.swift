import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepHTTP
import LockstepTransfer
import NIOCore

/// Compresses documents for clients that accept it, and keeps those that do not change.
actor AnswerCompression {
    /// Smaller documents fit into a packet.
    private static let leastBytes = 1000
    private static let mostBytes = 16 << 20
    /// The number of files that are kept in compressed form: more than the page and its libraries have.
    private static let mostKept = 200

    /// Compressed files by path and entity tag.
    private var kept: [String: ByteBuffer] = [:]

    /// Returns an answer in the form that its client accepts.
    nonisolated func answer(_ response: Response, to request: Request) async throws -> Response {
        guard let length = response.body.contentLength, (Self.leastBytes...Self.mostBytes).contains(length),
            response.headers[.contentEncoding] == nil, Gzip.isUseful(for: response.headers[.contentType])
        else { return response }
        var answer = response
        answer.headers[.vary] = "Accept-Encoding"
        guard Gzip.isAccepted(request.headers) else { return answer }
        answer.headers[.contentEncoding] = "gzip"
        let key = response.headers[.eTag].map { "\(request.uri.path) \($0)" }
        if let key, let buffer = await kept[key] {
            answer.body = ResponseBody(byteBuffer: buffer)
            return answer
        }
        let collected = CollectedBody()
        try await response.body.write(collected)
        let buffer = ByteBuffer(bytes: Gzip().compress(Array(collected.bytes.readableBytesView), .end))
        answer.body = ResponseBody(byteBuffer: buffer)
        if let key { await keep(buffer, key) }
        return answer
    }

    private func keep(_ buffer: ByteBuffer, _ key: String) {
        if kept.count >= Self.mostKept { kept = [:] }
        kept[key] = buffer
    }
}

/// Collects the bytes of a body whose length is known.
private final class CollectedBody: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) async throws { bytes.writeImmutableBuffer(buffer) }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
