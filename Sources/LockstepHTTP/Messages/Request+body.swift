import HTTPTypes
package import HummingbirdCore
import NIOCore

extension Request {
    /// - Throws: ``Problem`` if it has more than `limit` bytes.
    package func body(upTo limit: Int) async throws -> [UInt8] {
        let tooLarge = Problem(
            status: 413, title: "Content too large", detail: "the body is too large: the limit is \(limit) bytes")
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit { throw tooLarge }
        do {
            let buffer = try await body.collect(upTo: limit)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        }
    }
}
